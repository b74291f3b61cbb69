#ifndef CTASKSCOPE_H
#define CTASKSCOPE_H

#include <stdbool.h>
#include <stddef.h>

// A part of a Swift task that is cancelled without the rest of it: the cancellation scope that
// Swift's runtime has from 6.5 on (swift_task_pushCancellationScope), for older ones.
//
// A task has a list of status records, innermost first: cancellation handlers, groups, `async let`
// children (swift/ABI/TaskStatus.h). `swift_task_cancel` sets a bit in the task's status, and goes
// through that list under the task's lock. A scope puts two handlers of its own into the list. If
// it is the scope that cancels, the first of them ends the walk there for a moment, so that nothing
// outside is notified; when the scope is left the bit is cleared.
//
// The place of a record's next one, of the bit and of the list are looked for and checked at each
// cts_enter, by what is known of them. If anything is otherwise than expected, nothing is touched:
// then cancelling a scope cancels its whole task, for good.

typedef struct cts_scope {
    void *_Nullable task;
    void *_Nullable inner;
    void *_Nullable outer;
    // What stands in the list while the scope cancels.
    struct {
        size_t flags;
        void *_Nullable next;
        void *_Nullable run;
        void *_Nullable argument;
    } end;
    // The word of the task's status; NULL if the runtime is not as expected.
    unsigned *_Nullable status;
    bool did_cancel;
} cts_scope;

// Whether the calling task is in the body of a task group, of its own. False outside of tasks.
bool cts_is_in_group(void);

// Begins a scope of the calling task. The scope stays where it is until cts_leave.
void cts_enter(cts_scope *_Nonnull scope);

// Cancels what the task has begun since cts_enter and not ended, handlers and children, and all
// that it begins until cts_leave. Runs the handlers. Any thread, between cts_enter and cts_leave.
// Does nothing to a task that is cancelled; that is so, too, while a scope inside of this one has
// cancelled it.
void cts_cancel(cts_scope *_Nonnull scope);

// Ends the scope, the innermost one, on its task. True if it had cancelled the task and the task is
// cancelled no more. Somebody else's cancellation in between is not seen by Swift's runtime.
bool cts_leave(cts_scope *_Nonnull scope);

// Where the value of a task-local is that the calling task sees; NULL if it has none. Child tasks
// see that of their parent, at the same place; other tasks have copies.
const void *_Nullable cts_local_value(const void *_Nonnull key);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef CTASKSCOPE_H
#define CTASKSCOPE_H

#include <stdbool.h>
#include <stddef.h>

// Only clang knows these.
#ifndef __clang__
#define _Nonnull
#define _Nullable
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Cancels a part of a Swift task without the rest. For older runtimes, this is the cancellation
// scope that Swift's runtime has from 6.5 on (swift_task_pushCancellationScope).
//
// A task has a list of status records, innermost first: cancellation handlers, groups, `async let`
// children (swift/ABI/TaskStatus.h). `swift_task_cancel` sets a bit in the task's status, and walks
// that list under the task's lock. A scope adds two handlers of its own to the list. If the scope
// cancels, the inner handler cuts the list there for the rest of the walk, so that nothing outside
// is notified; when the scope is left, the bit is cleared.
//
// Each cts_enter finds the links, the bit and the list in the task's memory and checks them against
// their known values. If anything differs, no memory is written: then cancelling a scope cancels
// its whole task, for good.

typedef struct cts_scope {
    void *_Nullable task;
    void *_Nullable inner;
    void *_Nullable outer;
    // The record that ends the list while the scope cancels.
    struct {
        size_t flags;
        void *_Nullable next;
        void *_Nullable run;
        void *_Nullable argument;
    } end;
    // The word with the task's status; NULL if the runtime is not as expected.
    unsigned *_Nullable status;
    bool did_cancel;
    // Guarded by the list's lock: how many threads are cancelling the scope, whether one ever did,
    // so that the scope is listed, and the next scope in the list.
    int cancelling;
    bool is_listed;
    struct cts_scope *_Nullable next;
} cts_scope;

// Returns whether the runtime has all functions that are needed. If not, no other function below
// may be called. Whether they do what they should is for the caller to find out.
bool cts_is_there(void);

// Returns whether the calling task is cancelled, as the functions below see it.
bool cts_is_cancelled(void);

// Returns whether the calling task is in the body of a task group that it made; false outside
// tasks.
bool cts_is_in_group(void);

// Begins a scope of the calling task. The scope must not be moved until cts_leave.
void cts_enter(cts_scope *_Nonnull scope);

// Cancels the handlers and children that the task has begun since cts_enter and not ended, and all
// those that it begins until cts_leave. Runs the handlers. Any thread may call it between cts_enter
// and cts_leave. Does nothing if the task is cancelled already, also by a scope inside this one.
void cts_cancel(cts_scope *_Nonnull scope);

// Ends the scope, which must be the innermost, on its task. Returns true if the scope had cancelled
// the task, and the task is no longer cancelled. Swift's runtime ignores a cancellation of the
// whole task in between: see cts_is_cancelled_around.
bool cts_leave(cts_scope *_Nonnull scope);

// Returns whether a parent of the calling task, or a group that the task or such a parent is in,
// was cancelled, so that the task should be. Parents that only a scope has cancelled do not count.
// Returns false before cts_learn_parents.
bool cts_is_cancelled_around(void);

// Finds out where a child task holds its parent and its group. To be called in a child task that
// `parent` has added to `group`. Does nothing if the runtime is not as expected.
void cts_learn_parents(const void *_Nullable parent, const void *_Nullable group);
bool cts_knows_parents(void);
const void *_Nullable cts_current_task(void);

// Returns the address of a task-local's value for the calling task; NULL if it has none. Child
// tasks have the same address as their parent; other tasks have copies.
const void *_Nullable cts_local_value(const void *_Nonnull key);

#ifdef __cplusplus
}
#endif

#endif

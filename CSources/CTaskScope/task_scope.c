#ifdef __linux__
#include "include/CTaskScope.h"

#include <stdint.h>

#define SWIFT_CALL __attribute__((swiftcall))
#define SWIFT_CONTEXT __attribute__((swift_context))

typedef SWIFT_CALL void (*handler)(SWIFT_CONTEXT void *argument);

// From libswift_Concurrency; the standard library itself calls all but the first two.
SWIFT_CALL bool swift_task_hasTaskGroupStatusRecord(void);
SWIFT_CALL void *swift_task_localValueGet(const void *key);
SWIFT_CALL void *swift_task_getCurrent(void);
SWIFT_CALL bool swift_task_isCancelled(void *task);
SWIFT_CALL void swift_task_cancel(void *task);
SWIFT_CALL void *swift_task_addCancellationHandler(handler run, void *argument);
SWIFT_CALL void swift_task_removeCancellationHandler(void *record);

// CancellationNotificationStatusRecord of swift/ABI/TaskStatus.h. It is read and written with the
// task's lock held, and by its owner also before other threads can see it.
typedef struct record {
    size_t flags;
    struct record *next;
    handler run;
    void *argument;
} record;

_Static_assert(sizeof(record) == sizeof(((cts_scope *)NULL)->end), "the header has no room");

// An AsyncTask begins with 16 bytes of heap object and a job of 48 or more bytes, followed by 14
// words of its own (swift/ABI/Task.h, NumWords_AsyncTask). Only words that every task has are read.
enum { FIRST_WORD = 8, LAST_WORD = 20 };
static const unsigned IS_CANCELLED = 0x100;  // ActiveTaskStatus::IsCancelled

// The scope that the calling thread is cancelling; NULL if it cancels none.
static _Thread_local cts_scope *cancelling;

// Runs at the end of a scope's walk: links the outer records again.
static SWIFT_CALL void run_end(SWIFT_CONTEXT void *argument) {
    cts_scope *scope = argument;
    ((record *)scope->inner)->next = scope->outer;
}

// Runs when the walk has passed all records inside the scope. Ends the walk if it cancels this
// scope.
static SWIFT_CALL void run_inner(SWIFT_CONTEXT void *argument) {
    cts_scope *scope = argument;
    if (cancelling != scope) return;
    __atomic_store_n(&scope->did_cancel, true, __ATOMIC_RELEASE);
    if (scope->status == NULL) return;
    record *inner = scope->inner;
    record *end = (record *)&scope->end;
    *end = (record){.flags = inner->flags, .next = NULL, .run = run_end, .argument = scope};
    inner->next = end;
}

// Does nothing and lets the walk continue: the whole task is cancelled, not the scope.
static SWIFT_CALL void run_outer(SWIFT_CONTEXT void *argument) {
    (void)argument;
}

// Returns the words of the task that hold the record's address, one bit for each word.
static uint32_t words_with(const void *task, const void *record) {
    const uintptr_t *words = task;
    uint32_t found = 0;
    for (int word = FIRST_WORD; word <= LAST_WORD; word++) {
        uintptr_t held = __atomic_load_n(&words[word], __ATOMIC_ACQUIRE);
        if (held == (uintptr_t)record) found |= 1u << word;
    }
    return found;
}

// Returns the task's status. It is the word before the one that pointed to the outer record while
// that was the innermost, and points to the inner record now. Returns NULL unless there is exactly
// one such word, and all known values are as expected.
static unsigned *find_status(const cts_scope *scope, uint32_t had_outer) {
    const record *inner = scope->inner;
    const record *outer = scope->outer;
    if (inner->next != outer || inner->flags != outer->flags) return NULL;
    if (inner->run != run_inner || inner->argument != scope) return NULL;
    uint32_t found = words_with(scope->task, inner) & had_outer;
    if (found == 0 || (found & (found - 1)) != 0) return NULL;
    uintptr_t *innermost = (uintptr_t *)scope->task + __builtin_ctz(found);
    unsigned *status = (unsigned *)(innermost - 1);
    // The runtime exchanges the two words as one, so they are aligned to 16 bytes.
    if ((uintptr_t)status % 16 != 0) return NULL;
    bool is_cancelled = (__atomic_load_n(status, __ATOMIC_ACQUIRE) & IS_CANCELLED) != 0;
    return is_cancelled == swift_task_isCancelled(scope->task) ? status : NULL;
}

bool cts_is_in_group(void) { return swift_task_hasTaskGroupStatusRecord(); }

void cts_enter(cts_scope *scope) {
    *scope = (cts_scope){.task = swift_task_getCurrent()};
    if (scope->task == NULL) return;
    // If the task is cancelled, each call returns NULL, after its handler has run.
    scope->outer = swift_task_addCancellationHandler(run_outer, scope);
    if (scope->outer == NULL) return;
    uint32_t had_outer = words_with(scope->task, scope->outer);
    scope->inner = swift_task_addCancellationHandler(run_inner, scope);
    if (scope->inner == NULL) {
        // The task was cancelled after the first record was added.
        swift_task_removeCancellationHandler(scope->outer);
        scope->outer = NULL;
        return;
    }
    scope->status = find_status(scope, had_outer);
}

void cts_cancel(cts_scope *scope) {
    if (scope->task == NULL) return;
    cts_scope *before = cancelling;
    cancelling = scope;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    swift_task_cancel(scope->task);
    cancelling = before;
}

bool cts_leave(cts_scope *scope) {
    bool is_taken_back = false;
    if (scope->status != NULL && __atomic_load_n(&scope->did_cancel, __ATOMIC_ACQUIRE)) {
        unsigned before = __atomic_fetch_and(scope->status, ~IS_CANCELLED, __ATOMIC_SEQ_CST);
        // A thread that cancels from here on succeeds. The caller sees what a thread that tried
        // before had written.
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        is_taken_back = (before & IS_CANCELLED) != 0 && !swift_task_isCancelled(scope->task);
    }
    // Each call removes the innermost handler of the task.
    if (scope->inner != NULL) swift_task_removeCancellationHandler(scope->inner);
    if (scope->outer != NULL) swift_task_removeCancellationHandler(scope->outer);
    return is_taken_back;
}

const void *cts_local_value(const void *key) { return swift_task_localValueGet(key); }
#endif

// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "include/CTaskScope.h"

#include <pthread.h>
#include <stdint.h>

#define SWIFT_CALL __attribute__((swiftcall))
#define SWIFT_CONTEXT __attribute__((swift_context))

typedef SWIFT_CALL void (*handler)(SWIFT_CONTEXT void *argument);

// From libswift_Concurrency; the standard library itself calls all but the first two. Weak, so that
// a program starts with a runtime that lacks them.
#define FROM_RUNTIME SWIFT_CALL __attribute__((weak))
FROM_RUNTIME bool swift_task_hasTaskGroupStatusRecord(void);
FROM_RUNTIME void *swift_task_localValueGet(const void *key);
FROM_RUNTIME void *swift_task_getCurrent(void);
FROM_RUNTIME bool swift_task_isCancelled(void *task);
FROM_RUNTIME void swift_task_cancel(void *task);
FROM_RUNTIME void *swift_task_addCancellationHandler(handler run, void *argument);
FROM_RUNTIME void swift_task_removeCancellationHandler(void *record);
FROM_RUNTIME bool swift_taskGroup_isCancelled(void *group);

// With HRTIMER_NO_TASK_SCOPE the library is built as for a runtime without them.
bool cts_is_there(void) {
#ifdef HRTIMER_NO_TASK_SCOPE
    return false;
#else
    return swift_task_hasTaskGroupStatusRecord != NULL && swift_task_localValueGet != NULL &&
           swift_task_getCurrent != NULL && swift_task_isCancelled != NULL &&
           swift_task_cancel != NULL && swift_task_addCancellationHandler != NULL &&
           swift_task_removeCancellationHandler != NULL && swift_taskGroup_isCancelled != NULL;
#endif
}

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

// Guards the list of the scopes that somebody cancels or has cancelled, until they are left, and
// the number of those who cancel them.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cts_scope *cancelled_scopes;

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
static SWIFT_CALL void run_outer(SWIFT_CONTEXT void *argument) { (void)argument; }

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

bool cts_is_cancelled(void) { return swift_task_isCancelled(swift_task_getCurrent()); }

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

// Whether the scope has cancelled its task, but not for good.
static bool has_cancelled_part(const cts_scope *scope) {
    return scope->status != NULL && __atomic_load_n(&scope->did_cancel, __ATOMIC_ACQUIRE);
}

// Removes the scope from the list. With the lock held.
static void unlink_scope(const cts_scope *scope) {
    for (cts_scope **place = &cancelled_scopes; *place != NULL; place = &(*place)->next) {
        if (*place != scope) continue;
        *place = scope->next;
        return;
    }
}

void cts_cancel(cts_scope *scope) {
    if (scope->task == NULL) return;
    cts_scope *before = cancelling;
    cancelling = scope;
    // Before the task is cancelled, so that nobody takes that for a cancellation of the whole task.
    // Two threads may cancel one scope at a time.
    pthread_mutex_lock(&lock);
    scope->cancelling++;
    if (!scope->is_listed) {
        scope->is_listed = true;
        scope->next = cancelled_scopes;
        cancelled_scopes = scope;
    }
    pthread_mutex_unlock(&lock);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    swift_task_cancel(scope->task);
    pthread_mutex_lock(&lock);
    scope->cancelling--;
    pthread_mutex_unlock(&lock);
    cancelling = before;
}

bool cts_leave(cts_scope *scope) {
    bool is_taken_back = false;
    // Nobody else uses the scope any more.
    if (scope->is_listed) {
        // Others see the list and the task's status change together.
        pthread_mutex_lock(&lock);
        unlink_scope(scope);
        unsigned before = 0;
        if (has_cancelled_part(scope)) {
            before = __atomic_fetch_and(scope->status, ~IS_CANCELLED, __ATOMIC_SEQ_CST);
        }
        pthread_mutex_unlock(&lock);
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

// The bits of JobFlags (swift/ABI/MetadataValues.h), in the 32-bit word after the heap object and
// the two words of the job's scheduler (swift/ABI/Task.h).
enum { FLAGS_OFFSET = 32 };
static const uint32_t IS_CHILD = 1u << 24, IS_GROUP_CHILD = 1u << 26;

// A child task has its parent in a word after the AsyncTask, and a group's child has its group
// after that (ChildFragment and GroupChildFragment). These are the words' numbers; 0 while they are
// unknown. A child task has all the words that are read: the fragment of its result and the context
// of its function follow.
enum { FIRST_FRAGMENT_WORD = LAST_WORD + 1, LAST_FRAGMENT_WORD = 30 };
static int parent_word, group_word;

static uint32_t flags_of(const void *task) {
    return *(const uint32_t *)((const char *)task + FLAGS_OFFSET);
}

static void *word_of(const void *task, int word) { return ((void *const *)task)[word]; }

// Returns the number of the only word in the fragments with this value; 0 if there is none, or if
// there are several.
static int fragment_word(const void *task, const void *value) {
    int found = 0;
    for (int word = FIRST_FRAGMENT_WORD; word <= LAST_FRAGMENT_WORD; word++) {
        if (word_of(task, word) != value) continue;
        if (found != 0) return 0;
        found = word;
    }
    return found;
}

const void *cts_current_task(void) { return swift_task_getCurrent(); }

bool cts_knows_parents(void) { return __atomic_load_n(&group_word, __ATOMIC_ACQUIRE) != 0; }

void cts_learn_parents(const void *parent, const void *group) {
    const void *child = swift_task_getCurrent();
    uint32_t expected = IS_CHILD | IS_GROUP_CHILD;
    if (child == NULL || (flags_of(child) & expected) != expected) return;
    int parent_at = fragment_word(child, parent);
    int group_at = fragment_word(child, group);
    if (parent_at == 0 || group_at <= parent_at) return;
    __atomic_store_n(&parent_word, parent_at, __ATOMIC_RELAXED);
    __atomic_store_n(&group_word, group_at, __ATOMIC_RELEASE);
}

// Whether the task is cancelled, but not by a scope of its own alone.
static bool is_wholly_cancelled(void *task) {
    pthread_mutex_lock(&lock);
    bool is_cancelled = swift_task_isCancelled(task);
    for (cts_scope *scope = cancelled_scopes; scope != NULL && is_cancelled; scope = scope->next) {
        if (scope->task != task) continue;
        if (scope->cancelling > 0 || has_cancelled_part(scope)) is_cancelled = false;
    }
    pthread_mutex_unlock(&lock);
    return is_cancelled;
}

bool cts_is_cancelled_around(void) {
    if (!cts_knows_parents()) return false;
    int parent_at = __atomic_load_n(&parent_word, __ATOMIC_RELAXED);
    void *task = swift_task_getCurrent();
    // Parents outlive their children.
    while (task != NULL && (flags_of(task) & IS_CHILD) != 0) {
        void *parent = word_of(task, parent_at);
        // All tasks have the same metadata.
        if (parent == NULL || word_of(parent, 0) != word_of(task, 0)) return false;
        bool is_in_group = (flags_of(task) & IS_GROUP_CHILD) != 0;
        if (is_in_group && swift_taskGroup_isCancelled(word_of(task, group_word))) return true;
        if (is_wholly_cancelled(parent)) return true;
        task = parent;
    }
    return false;
}

const void *cts_local_value(const void *key) { return swift_task_localValueGet(key); }
#endif

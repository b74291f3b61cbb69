// Counts the mutexes that each thread locks: replaces pthread_mutex_lock(3) with a function that
// calls glibc's own. An executable's symbols come before those of its libraries (ld.so(8)), so that
// the Swift runtime's and Dispatch's calls of it count too. Sanitizers replace it themselves: with
// them nothing is counted. While counting is off, it costs one branch.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "cbench_kernel.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CBENCH_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(CBENCH_SANITIZED)

typedef int lock_function(pthread_mutex_t *mutex);

static _Atomic(lock_function *) next_lock;
static atomic_bool counts_locks;
// Initial-exec, because it is in the executable itself: reading it never allocates.
static __thread uint64_t locks;

// Looks the function up at the first lock, which comes before any constructor of ours. Threads that
// race here find the same function.
static lock_function *find_next_lock(void) {
    lock_function *found = (lock_function *)dlsym(RTLD_NEXT, "pthread_mutex_lock");
    atomic_store_explicit(&next_lock, found, memory_order_relaxed);
    return found;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (atomic_load_explicit(&counts_locks, memory_order_relaxed)) locks++;
    lock_function *next = atomic_load_explicit(&next_lock, memory_order_relaxed);
    if (next == NULL) next = find_next_lock();
    return next(mutex);
}

bool cbench_count_locks(bool is_on) {
    atomic_store_explicit(&counts_locks, is_on, memory_order_relaxed);
    return true;
}

// The library counts its own lock itself, if it has one and is built to count. The symbol is weak,
// so that it may be missing.
extern uint64_t hrt_lock_taken_by_thread(void) __attribute__((weak));

uint64_t cbench_thread_locks(void) {
    bool is_on = atomic_load_explicit(&counts_locks, memory_order_relaxed);
    return locks + (is_on && hrt_lock_taken_by_thread != NULL ? hrt_lock_taken_by_thread() : 0);
}

#else

bool cbench_count_locks(bool is_on) {
    (void)is_on;
    return false;
}
uint64_t cbench_thread_locks(void) { return 0; }

#endif

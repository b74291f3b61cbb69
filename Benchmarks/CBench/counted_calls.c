// SPDX-License-Identifier: Apache-2.0
// Counts the allocations and the locks of each thread: replaces malloc(3) and its kin, and
// pthread_mutex_lock(3), with functions that call glibc's own. An executable's symbols come before
// those of its libraries (ld.so(8)), so that what the Swift runtime and Dispatch do counts too;
// glibc supports this ("Replacing malloc" in its manual). Sanitizers replace these functions
// themselves: with them nothing is counted.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cbench_kernel.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define CBENCH_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(CBENCH_SANITIZED)

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

// Initial-exec, because they are in the executable itself: reading them never allocates.
static __thread uint64_t allocations;
static __thread uint64_t locks;

void *malloc(size_t bytes) {
    allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    allocations++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes) {
    allocations++;
    return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    allocations++;
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void **out, size_t alignment, size_t bytes) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *start = memalign(alignment, bytes);
    if (start == NULL) return ENOMEM;
    *out = start;
    return 0;
}

bool cbench_counts_allocations(void) { return true; }
uint64_t cbench_thread_allocations(void) { return allocations; }

typedef int lock_function(pthread_mutex_t *mutex);

static _Atomic(lock_function *) next_lock;
static atomic_bool counts_locks;

// Looks the function up at the first lock, which comes before any constructor of ours. Threads that
// race here find the same function.
static lock_function *find_next_lock(void) {
    lock_function *found = (lock_function *)dlsym(RTLD_NEXT, "pthread_mutex_lock");
    atomic_store_explicit(&next_lock, found, memory_order_relaxed);
    return found;
}

// While counting is off, it costs one branch.
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

bool cbench_counts_allocations(void) { return false; }
uint64_t cbench_thread_allocations(void) { return 0; }
uint64_t cbench_thread_locks(void) { return 0; }

bool cbench_count_locks(bool is_on) {
    (void)is_on;
    return false;
}

#endif

// Counts the allocations of each thread: replaces malloc(3) and its kin with functions that call
// glibc's own. Their memory is glibc's, and glibc frees it. An executable's symbols come before
// those of its libraries (ld.so(8)), so that the Swift runtime's allocations count too; glibc
// supports this ("Replacing malloc" in its manual). Sanitizers replace malloc themselves: with them
// nothing is counted.
#include <errno.h>
#include <stdlib.h>

#include "cbench_kernel.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define CBENCH_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(CBENCH_SANITIZED)

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

// Initial-exec, because it is in the executable itself: reading it never allocates.
static __thread uint64_t allocations;

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

#else

bool cbench_counts_allocations(void) { return false; }
uint64_t cbench_thread_allocations(void) { return 0; }

#endif

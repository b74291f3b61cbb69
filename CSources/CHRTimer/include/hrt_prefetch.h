#ifndef HRT_PREFETCH_H
#define HRT_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

// Unrolled, the loop would be more cold lines of code than it is worth.
#ifdef __clang__
#define HRT_NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define HRT_NOT_UNROLLED
#endif

enum { HRT_LINE_BYTES = 64 };

// Prefetches the lines of that many bytes, which are about to be read or written, into the
// processor's caches. A hint: any address is allowed, even NULL. So the sum is computed as an
// integer, because C restricts pointer sums (C11, 6.5.6p8). Any thread.
static inline void hrt_prefetch(const void *_Nullable address, size_t bytes) {
    size_t length = (uintptr_t)address % HRT_LINE_BYTES + bytes;  // from the first line's begin
    HRT_NOT_UNROLLED
    for (size_t i = 0; i < length; i += HRT_LINE_BYTES)
        __builtin_prefetch((const void *)((uintptr_t)address + i), 1);
}

// Prefetches a value that lies in one line.
static inline void hrt_prefetch_line(const void *_Nullable address) {
    __builtin_prefetch(address, 1);
}

// Prefetches code, or data that is only read; otherwise like hrt_prefetch.
static inline void hrt_prefetch_read(const void *_Nullable address, size_t bytes) {
    size_t length = (uintptr_t)address % HRT_LINE_BYTES + bytes;
    HRT_NOT_UNROLLED
    for (size_t i = 0; i < length; i += HRT_LINE_BYTES)
        __builtin_prefetch((const void *)((uintptr_t)address + i), 0);
}

// Prefetches the line to which a word of an object points, at `offset`, a multiple of 8. A word
// that is no address does no harm. The object may end before the word, which is read only if it
// lies on the object's first page. The read may race with a write and may lie behind the object,
// so sanitizers must not check it. Does nothing for NULL. Any thread.
__attribute__((no_sanitize("address", "thread"))) static inline void
hrt_prefetch_pointee(const void *_Nullable object, size_t offset) {
    enum { PAGE_BYTES = 4096 };  // the least of all pages
    uintptr_t place = (uintptr_t)object + offset;
    if (object == NULL || place / PAGE_BYTES != (uintptr_t)object / PAGE_BYTES) return;
    uintptr_t word = __atomic_load_n((const uintptr_t *)place, __ATOMIC_RELAXED);
    __builtin_prefetch((const void *)word, 1);
}

#endif

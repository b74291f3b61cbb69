#ifndef HRT_PREFETCH_H
#define HRT_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

// Has the processor fetch so many bytes into its caches, which are about to be read or written. A
// hint: any address is allowed, NULL too, which is why the sum is not a pointer's (C11, 6.5.6p8).
// Any thread.
static inline void hrt_prefetch(const void *_Nullable address, size_t bytes) {
    enum { LINE_BYTES = 64 };
    for (size_t i = 0; i < bytes; i += LINE_BYTES)
        __builtin_prefetch((const void *)((uintptr_t)address + i), 1);
}

// The same of code, or of data that is read alone.
static inline void hrt_prefetch_read(const void *_Nullable address, size_t bytes) {
    enum { LINE_BYTES = 64 };
    for (size_t i = 0; i < bytes; i += LINE_BYTES)
        __builtin_prefetch((const void *)((uintptr_t)address + i), 0);
}

#endif

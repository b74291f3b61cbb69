// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_latch.h"

#include "hrt_futex.h"

enum { CLOSED = 0, AWAITED = 1, OPEN = 2 };

static inline _Atomic uint32_t *word_of(const hrt_latch *latch) {
    return (_Atomic uint32_t *)&latch->word;
}

void hrt_latch_open(hrt_latch *latch) {
    if (atomic_exchange_explicit(word_of(latch), OPEN, memory_order_acq_rel) == AWAITED) {
        hrt_futex_wake_all(word_of(latch));
    }
}

bool hrt_latch_is_open(const hrt_latch *latch) {
    return atomic_load_explicit(word_of(latch), memory_order_acquire) == OPEN;
}

void hrt_latch_wait(hrt_latch *latch) {
    for (;;) {
        uint32_t seen = CLOSED;
        atomic_compare_exchange_strong_explicit(word_of(latch), &seen, AWAITED,
                                                memory_order_acquire, memory_order_acquire);
        if (seen == OPEN) return;
        hrt_futex_wait(word_of(latch), AWAITED);
    }
}
#endif

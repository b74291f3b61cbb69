// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_SPIN_H
#define HRT_SPIN_H

#include <stdatomic.h>

#include "../include/hrt_clock.h"

// Spares the processor while a thread spins.
static inline void hrt_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Reads the clock, starting from the reading now_ns, until the deadline, until *woken is not 0 (it
// is not reset), or until more than longest_ns is left, because the clock was set back. Returns the
// last reading; adds the processor time spun to *spun_ns.
int64_t hrt_spin(const _Atomic uint32_t *woken, hrt_clock clock, int64_t deadline_ns,
                 int64_t now_ns, int64_t longest_ns, int64_t *spun_ns);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_PRECISE_H
#define HRT_PRECISE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../include/hrt_clock.h"
#include "../include/hrt_spin_window.h"

// The common part of every precise wait, whichever call it sleeps in: it gets the spin window
// before the sleep, records the wake's latency after it, and spends the time spun from the window's
// budget. One thread at a time uses a spin window.

typedef struct {
    int64_t wake_ns;   // the instant until which to sleep
    int64_t sleep_ns;  // time from now to the deadline; below 0 if there is no spin window
    bool has_begun;    // wake_ns is not in the future: do not sleep
    bool is_first;     // a second wake follows, for which hrt_wake_early is called again
} hrt_early_wake;

// Returns when a thread must wake for the deadline: a spin window before it, or at the deadline
// itself if that is HRT_NEVER or past.
hrt_early_wake hrt_wake_early(hrt_clock clock, int64_t deadline_ns, hrt_spin_window *window);

// Records the latency of the wake. Called when the clock has reached wake_ns and the thread is
// awake.
void hrt_woken_early(hrt_clock clock, hrt_early_wake early, hrt_spin_window *window);

// Records in the window how long the thread took from its wake to this call, calls hrt_spin, spends
// the time spun from the window's budget, and adds it to *spun_ns. Returns the last reading.
int64_t hrt_spin_in_window(const _Atomic uint32_t *woken, hrt_clock clock, int64_t deadline_ns,
                           int64_t longest_ns, hrt_spin_window *window, int64_t *spun_ns);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// The two parts of a precise wait: a sleep until the spin window, and a spin on the clock.
#include "../clock/hrt_precise.h"
#include "hrt_wait_parts.h"

int hrt_wait_until_spin_window(hrt_wait *wait, int64_t deadline_ns, hrt_spin_window *window) {
    for (;;) {
        hrt_early_wake early = hrt_wake_early(wait->clock, deadline_ns, window);
        if (early.has_begun) return hrt_wait_consume_wake(wait);
        int outcome = hrt_wait_until(wait, early.wake_ns);
        if (outcome == HRT_WAIT_TIMED_OUT) hrt_woken_early(wait->clock, early, window);
        if (outcome != HRT_WAIT_TIMED_OUT || !early.is_first) return outcome;
    }
}

int hrt_wait_spin_until(hrt_wait *wait, int64_t deadline_ns, hrt_spin_window *window,
                        int64_t *out_now_ns, int64_t *out_spun_ns) {
    *out_spun_ns = 0;
    for (;;) {
        *out_now_ns = hrt_spin_in_window(&wait->woken, wait->clock, deadline_ns,
                                         HRT_SPIN_WINDOW_LONGEST_NS, window, out_spun_ns);
        // Checks for a wake once more after the deadline, so that a caller that gets TIMED_OUT need
        // not.
        if (atomic_load_explicit(&wait->woken, memory_order_acquire))
            return hrt_wait_consume_wake(wait);
        if (*out_now_ns >= deadline_ns) return HRT_WAIT_TIMED_OUT;
        if (hrt_wait_until(wait, deadline_ns - HRT_SPIN_WINDOW_LONGEST_NS) == HRT_WAIT_WOKEN)
            return HRT_WAIT_WOKEN;
    }
}
#endif

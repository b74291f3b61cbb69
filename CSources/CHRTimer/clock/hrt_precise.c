// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "hrt_precise.h"

#include "hrt_spin.h"

// Returns a reading of a clock that is never set, to measure elapsed time.
static int64_t steady_ns(hrt_clock clock, int64_t now_ns) {
    return clock == HRT_CLOCK_MONOTONIC ? now_ns : hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
}

hrt_early_wake hrt_wake_early(hrt_clock clock, int64_t deadline_ns, hrt_spin_window *window) {
    int64_t now_ns = hrt_clock_now_ns(clock);
    // A wake that no spin followed, because its deadline had passed, tells nothing about the next
    // one.
    window->woken_ns = INT64_MIN;
    if (deadline_ns == HRT_NEVER || deadline_ns <= now_ns) {
        return (hrt_early_wake){.wake_ns = deadline_ns, .sleep_ns = -1};
    }
    hrt_early_wake early;
    if (__builtin_sub_overflow(deadline_ns, now_ns, &early.sleep_ns)) early.sleep_ns = HRT_NEVER;
    early.wake_ns =
        deadline_ns - hrt_spin_window_ns(window, early.sleep_ns, steady_ns(clock, now_ns));
    int64_t first_ns = hrt_spin_window_first_ns(window, early.sleep_ns);
    early.is_first = first_ns > 0;
    if (early.is_first) early.wake_ns = deadline_ns - first_ns;
    early.has_begun = early.wake_ns <= now_ns;
    return early;
}

void hrt_woken_early(hrt_clock clock, hrt_early_wake early, hrt_spin_window *window) {
    if (early.sleep_ns < 0) return;
    window->woken_ns = hrt_clock_now_ns(clock);
    if (early.is_first) {
        // The window was not meant for this wake.
        window->window_ns = -1;
        window->slept_ns = early.sleep_ns;
    }
    hrt_spin_window_record_wake(window, early.sleep_ns, window->woken_ns - early.wake_ns);
}

int64_t hrt_spin_in_window(const _Atomic uint32_t *woken, hrt_clock clock, int64_t deadline_ns,
                           int64_t longest_ns, hrt_spin_window *window, int64_t *spun_ns) {
    int64_t now_ns = hrt_clock_now_ns(clock), just_spun_ns = 0;
    hrt_spin_window_record_ready(window, now_ns);
    now_ns = hrt_spin(woken, clock, deadline_ns, now_ns, longest_ns, &just_spun_ns);
    hrt_spin_budget_spend(window->budget, just_spun_ns);
    *spun_ns += just_spun_ns;
    return now_ns;
}
#endif

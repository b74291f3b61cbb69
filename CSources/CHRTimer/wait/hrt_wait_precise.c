// Waiting by reading the clock: a whole wait, or what is left of one after a sleep.
#include <sched.h>

#include "../clock/hrt_spin.h"
#include "hrt_wait_parts.h"

// Who spins a whole wait gives way for as long as a computing thread's slice may still end in time.
static const int64_t FAR_NS = 5 * 1000 * 1000;

// Margins are shorter (hrt_margin.h): where more is left of one, the clock was set back.
static const int64_t LONGEST_SPIN_NS = 20 * 1000 * 1000;

int hrt_wait_spin_whole_until(hrt_wait *wait, int64_t deadline_ns) {
    int64_t now_ns = hrt_clock_now_ns(wait->clock), spun_ns = 0;
    while (!atomic_load_explicit(&wait->woken, memory_order_relaxed)) {
        now_ns = hrt_spin(&wait->woken, wait->clock, deadline_ns, now_ns, FAR_NS, &spun_ns);
        if (now_ns >= deadline_ns) break;
        sched_yield();
        now_ns = hrt_clock_now_ns(wait->clock);
    }
    return hrt_wait_consume_wake(wait);
}

// A reading of the clock that is never set, for what is a length of time.
static int64_t steady_ns(const hrt_wait *wait, int64_t now_ns) {
    return wait->clock == HRT_CLOCK_MONOTONIC ? now_ns : hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
}

int hrt_wait_until_margin(hrt_wait *wait, int64_t deadline_ns, hrt_margin *margin) {
    int64_t now_ns = hrt_clock_now_ns(wait->clock);
    if (deadline_ns == HRT_NEVER || deadline_ns <= now_ns) return hrt_wait_until(wait, deadline_ns);
    int64_t sleep_ns;
    if (__builtin_sub_overflow(deadline_ns, now_ns, &sleep_ns)) sleep_ns = HRT_NEVER;
    int64_t wake_ns = deadline_ns - hrt_margin_ns(margin, sleep_ns, steady_ns(wait, now_ns));
    if (wake_ns <= now_ns) return hrt_wait_consume_wake(wait);
    int outcome = hrt_wait_until(wait, wake_ns);
    if (outcome == HRT_WAIT_TIMED_OUT) {
        hrt_margin_record_wake(margin, sleep_ns, hrt_clock_now_ns(wait->clock) - wake_ns);
    }
    return outcome;
}

int hrt_wait_spin_until(hrt_wait *wait, int64_t deadline_ns, hrt_margin *margin, int64_t *out_now_ns,
                        int64_t *out_spun_ns) {
    *out_spun_ns = 0;
    for (;;) {
        int64_t spun_ns = 0;
        int64_t now_ns = hrt_spin(&wait->woken, wait->clock, deadline_ns, hrt_clock_now_ns(wait->clock),
                                       LONGEST_SPIN_NS, &spun_ns);
        *out_now_ns = now_ns;
        hrt_margin_record_spin(margin, spun_ns);
        *out_spun_ns += spun_ns;
        // Read once more after the deadline: whoever is not woken may go on without asking why.
        if (atomic_load_explicit(&wait->woken, memory_order_acquire)) return hrt_wait_consume_wake(wait);
        if (now_ns >= deadline_ns) return HRT_WAIT_TIMED_OUT;
        if (hrt_wait_until(wait, deadline_ns - LONGEST_SPIN_NS) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
    }
}

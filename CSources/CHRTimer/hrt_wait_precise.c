// Waiting by reading the clock: a whole wait, or what is left of one after a sleep.
#include <sched.h>

#include "hrt_wait_parts.h"

// Above this a yield can still come back in time on an idle machine; below it nothing is given away.
static const int64_t YIELD_ABOVE_NS = 20 * 1000;

static inline void pause_processor(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// The vDSO's clock is read in the time of two pauses, and is the clock that was asked for: no calibration of the processor's
// own counter can make it early.
static int spin(hrt_wait *wait, int64_t deadline_ns, int64_t now_ns) {
    while (now_ns < deadline_ns) {
        if (atomic_load_explicit(&wait->woken, memory_order_relaxed)) break;
        if (deadline_ns - now_ns > YIELD_ABOVE_NS) {
            sched_yield();
        } else {
            pause_processor();
        }
        now_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    }
    return hrt_wait_consume_wake(wait);
}

int hrt_wait_spin_until(hrt_wait *wait, int64_t deadline_ns) {
    return spin(wait, deadline_ns, hrt_clock_now_ns(HRT_CLOCK_MONOTONIC));
}

int hrt_wait_precisely_until(hrt_wait *wait, int64_t deadline_ns, hrt_margin *margin, hrt_wait_cost *out_cost) {
    *out_cost = (hrt_wait_cost){.spun_ns = 0, .wake_latency_ns = -1};
    int64_t now_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    if (deadline_ns == HRT_NEVER || deadline_ns <= now_ns) return hrt_wait_until(wait, deadline_ns);
    int64_t sleep_ns;
    if (__builtin_sub_overflow(deadline_ns, now_ns, &sleep_ns)) sleep_ns = HRT_NEVER;
    int64_t wake_ns = deadline_ns - hrt_margin_ns(margin, sleep_ns, now_ns);
    if (wake_ns > now_ns) {
        if (hrt_wait_until(wait, wake_ns) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
        now_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
        out_cost->wake_latency_ns = now_ns - wake_ns;
        hrt_margin_record_wake(margin, sleep_ns, out_cost->wake_latency_ns);
    }
    if (now_ns >= deadline_ns) return HRT_WAIT_TIMED_OUT;
    int outcome = spin(wait, deadline_ns, now_ns);
    out_cost->spun_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) - now_ns;
    hrt_margin_record_spin(margin, out_cost->spun_ns);
    return outcome;
}

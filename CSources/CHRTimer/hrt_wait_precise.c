// Waiting by reading the clock: a whole wait, or what is left of one after a sleep.
#include <sched.h>

#include "hrt_wait_parts.h"

// Above this a pause spares the processor; below it nothing is given away, since a pause is as long as a reading of the
// clock.
static const int64_t PAUSE_ABOVE_NS = 500;

// Two readings of the clock so far apart have something else between them: the processor was given to another thread,
// by the kernel or the host, or the clock was set. That is not spun.
static const int64_t AWAY_NS = 10 * 1000;

// Who spins a whole wait gives way for as long as a computing thread's slice may still end in time.
static const int64_t FAR_NS = 5 * 1000 * 1000;

static inline void pause_processor(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Margins are shorter (hrt_margin.h): where more is left of one, the clock was set back.
static const int64_t LONGEST_SPIN_NS = 20 * 1000 * 1000;

// No sched_yield: to a thread that computes it gives a whole slice, 3 ms, and the deadline with it. An ordinary thread
// is made to give way by the scheduler, and a spin is short.
//
// The vDSO's clock is read in the time of two pauses, and is the clock that was asked for: no calibration of the
// processor's own counter can make it early.
int64_t hrt_wait_spin(const _Atomic uint32_t *woken, hrt_clock clock, int64_t deadline_ns, int64_t now_ns,
                      int64_t longest_ns, int64_t *spun_ns) {
    while (now_ns < deadline_ns) {
        int64_t before_ns = now_ns;
        if (atomic_load_explicit(woken, memory_order_relaxed)) break;
        // Unsigned: the difference may not fit the sign.
        uint64_t left_ns = (uint64_t)deadline_ns - (uint64_t)now_ns;
        if (left_ns > (uint64_t)longest_ns) break;
        if (left_ns > (uint64_t)PAUSE_ABOVE_NS) pause_processor();
        now_ns = hrt_clock_now_ns(clock);
        uint64_t step_ns = (uint64_t)now_ns - (uint64_t)before_ns;
        if (step_ns < (uint64_t)AWAY_NS) *spun_ns += (int64_t)step_ns;
    }
    return now_ns;
}

int hrt_wait_spin_whole_until(hrt_wait *wait, int64_t deadline_ns) {
    int64_t now_ns = hrt_clock_now_ns(wait->clock), spun_ns = 0;
    while (!atomic_load_explicit(&wait->woken, memory_order_relaxed)) {
        now_ns = hrt_wait_spin(&wait->woken, wait->clock, deadline_ns, now_ns, FAR_NS, &spun_ns);
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
        int64_t now_ns = hrt_wait_spin(&wait->woken, wait->clock, deadline_ns, hrt_clock_now_ns(wait->clock),
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

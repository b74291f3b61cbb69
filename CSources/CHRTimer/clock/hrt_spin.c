// Reading the clock until an instant comes.
#include "hrt_spin.h"

#include "../include/hrt_spin_until.h"

// Above this a pause spares the processor; below it nothing is given away, since a pause is as long
// as a reading of the clock.
static const int64_t PAUSE_ABOVE_NS = 500;

// Two readings of the clock so far apart have something else between them: the processor was given
// to another thread, by the kernel or the host, or the clock was set. That is not spun.
static const int64_t AWAY_NS = 10 * 1000;

// No sched_yield: to a thread that computes it gives a whole slice, 3 ms, and the deadline with it.
// The scheduler preempts an ordinary thread, and a spin is short.
//
// The vDSO's clock is read in the time of two pauses, and is the clock that was requested: no
// calibration of the processor's own counter can make it early.
int64_t hrt_spin(const _Atomic uint32_t *woken, hrt_clock clock, int64_t deadline_ns,
                 int64_t now_ns, int64_t longest_ns, int64_t *spun_ns) {
    while (now_ns < deadline_ns) {
        int64_t before_ns = now_ns;
        if (atomic_load_explicit(woken, memory_order_relaxed)) break;
        // Unsigned: the difference may not fit the sign.
        uint64_t left_ns = (uint64_t)deadline_ns - (uint64_t)now_ns;
        if (left_ns > (uint64_t)longest_ns) break;
        if (left_ns > (uint64_t)PAUSE_ABOVE_NS) hrt_pause();
        now_ns = hrt_clock_now_ns(clock);
        uint64_t step_ns = (uint64_t)now_ns - (uint64_t)before_ns;
        if (step_ns < (uint64_t)AWAY_NS) *spun_ns += (int64_t)step_ns;
    }
    return now_ns;
}

int64_t hrt_spin_until(hrt_clock clock, int64_t deadline_ns, int64_t now_ns, int64_t longest_ns,
                       int64_t *spun_ns) {
    static const _Atomic uint32_t nobody_wakes;
    return hrt_spin(&nobody_wakes, clock, deadline_ns, now_ns, longest_ns, spun_ns);
}

// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// Reading the clock until an instant comes.
#include "hrt_spin.h"

#include "../include/hrt_spin_until.h"

// While more than this is left, the spin pauses, for the processor's sake. With less it does not,
// because a pause can cost exactness: it is as long as a reading of the clock.
static const int64_t PAUSE_ABOVE_NS = 500;

// If two readings are further apart than this, the kernel or the host ran another thread between
// them, or the clock was set. That time does not count as spun.
static const int64_t AWAY_NS = 10 * 1000;

// Does not call sched_yield: that would give a computing thread a whole time slice, 3 ms, and miss
// the deadline. The scheduler can preempt an ordinary thread, and a spin is short.
//
// Reads the requested clock through the vDSO, in the time of two pauses. The processor's own
// counter would need calibration, and an error of the calibration could make a fire early.
int64_t hrt_spin(const _Atomic uint32_t *woken, hrt_clock clock, int64_t deadline_ns,
                 int64_t now_ns, int64_t longest_ns, int64_t *spun_ns) {
    while (now_ns < deadline_ns) {
        int64_t before_ns = now_ns;
        if (atomic_load_explicit(woken, memory_order_relaxed)) break;
        // Unsigned, because the difference may not fit into an int64_t.
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
#endif

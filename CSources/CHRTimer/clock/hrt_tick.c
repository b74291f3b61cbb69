// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// How often a clock's reading changes.
#include "hrt_tick.h"

#include <stdatomic.h>

#include "hrt_spin.h"

// A step up to this is finer than any wake-up is exact.
static const int64_t COARSE_NS = 10 * 1000;

// These readings take about 10 us in all: a clock with a fine reading changes at each of them.
enum { READINGS = 200 };

enum { UNKNOWN = -1 };

static _Atomic int64_t monotonic_tick_ns = UNKNOWN;
static _Atomic int64_t wall_tick_ns = UNKNOWN;
static _Atomic int64_t boot_tick_ns = UNKNOWN;

static _Atomic int64_t *tick_of(hrt_clock clock) {
    switch (clock) {
    case HRT_CLOCK_MONOTONIC: return &monotonic_tick_ns;
    case HRT_CLOCK_WALL: return &wall_tick_ns;
    case HRT_CLOCK_BOOT: return &boot_tick_ns;
    }
    __builtin_unreachable();
}

// Returns the clock's tick, 0 if its readings are fine. clock_getres(2) says how exact the kernel's
// timers are. Where these are coarse, readings may still be fine (hrtimer_resolution in
// kernel/time/hrtimer.c): then no wait ends too early.
static int64_t look_at(hrt_clock clock) {
    struct timespec resolution = {0};
    if (clock_getres((clockid_t)clock, &resolution) != 0) return 0;
    int64_t tick_ns = hrt_ns_from_timespec(resolution);
    if (tick_ns <= COARSE_NS) return 0;
    int64_t first_ns = hrt_clock_now_ns(clock);
    for (int reading = 0; reading < READINGS; reading++) {
        hrt_pause();
        int64_t step_ns = hrt_clock_now_ns(clock) - first_ns;
        if (step_ns > 0 && step_ns < tick_ns / 2) return 0;
        if (step_ns != 0) break;
    }
    return tick_ns;
}

int64_t hrt_clock_tick_ns(hrt_clock clock) {
    _Atomic int64_t *known = tick_of(clock);
    int64_t tick_ns = atomic_load_explicit(known, memory_order_relaxed);
    if (tick_ns != UNKNOWN) return tick_ns;
    // Threads that come here at the same time find the same value.
    tick_ns = look_at(clock);
    atomic_store_explicit(known, tick_ns, memory_order_relaxed);
    return tick_ns;
}

int64_t hrt_tick_reading_coarse(hrt_clock clock, int64_t tick_ns, int64_t deadline_ns) {
    if (deadline_ns == HRT_NEVER) return deadline_ns;
    // A reading is the instant of the latest tick.
    int64_t now_ns = hrt_clock_now_ns(clock), left_ns;
    if (deadline_ns <= now_ns) return deadline_ns;
    if (__builtin_sub_overflow(deadline_ns, now_ns, &left_ns)) return deadline_ns;
    int64_t rest_ns = left_ns % tick_ns, tick_at_ns;
    if (rest_ns == 0) return deadline_ns;
    if (__builtin_add_overflow(deadline_ns, tick_ns - rest_ns, &tick_at_ns)) return HRT_NEVER;
    return tick_at_ns;
}
#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_TICK_H
#define HRT_TICK_H

#include "../include/hrt_clock.h"

// Returns the instant at which a clock with coarse ticks will read deadline_ns or later. A wait
// until the deadline itself would find the clock before it, and repeat until the next tick. Returns
// the deadline itself if the clock is fine, if the deadline is past, and for HRT_NEVER. Any thread.
//
// tick_ns is hrt_clock_tick_ns of the clock: the caller keeps it, so that a fire need not look it
// up.
int64_t hrt_tick_reading_coarse(hrt_clock clock, int64_t tick_ns, int64_t deadline_ns);
static inline int64_t hrt_tick_reading(hrt_clock clock, int64_t tick_ns, int64_t deadline_ns) {
    return tick_ns == 0 ? deadline_ns : hrt_tick_reading_coarse(clock, tick_ns, deadline_ns);
}

#endif

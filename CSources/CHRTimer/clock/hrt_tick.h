#ifndef HRT_TICK_H
#define HRT_TICK_H

#include "../include/hrt_clock.h"

// Returns the instant at which a clock with coarse ticks will read deadline_ns or later. A wait
// until the deadline itself would find the clock before it, and repeat until the next tick. Returns
// the deadline itself if the clock is fine, if the deadline is past, and for HRT_NEVER. Any thread.
int64_t hrt_tick_reading(hrt_clock clock, int64_t deadline_ns);

#endif

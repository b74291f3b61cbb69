#ifndef HRT_TICK_H
#define HRT_TICK_H

#include "../include/hrt_clock.h"

// When a clock that ticks seldom will read deadline_ns or later, as it ticks now: a wait that ends
// at the deadline itself finds the clock short of it, and would be begun again until the tick
// comes. The deadline where the clock is fine, if it is past, and for HRT_NEVER. Any thread.
int64_t hrt_tick_reading(hrt_clock clock, int64_t deadline_ns);

#endif

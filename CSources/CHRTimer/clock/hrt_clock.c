#include "../include/hrt_clock.h"

#include "../hrt_status.h"
#include "hrt_tick.h"

void hrt_clock_sleep_until(hrt_clock clock, int64_t deadline_ns) {
    int error;
    // clock_nanosleep returns its error and leaves errno alone. The deadline is absolute: a retry
    // after a signal cannot drift.
    do {
        struct timespec deadline = hrt_timespec_from_ns(hrt_tick_reading(clock, deadline_ns));
        error = clock_nanosleep((clockid_t)clock, TIMER_ABSTIME, &deadline, NULL);
    } while (error == EINTR || (error == 0 && hrt_clock_tick_ns(clock) > 0 &&
                                hrt_clock_now_ns(clock) < deadline_ns));
    if (error != 0) hrt_impossible("clock_nanosleep", error);
}

#include "../include/hrt_clock.h"

#include "../hrt_status.h"

void hrt_clock_sleep_until(hrt_clock clock, int64_t deadline_ns) {
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    int error;
    // clock_nanosleep returns its error and leaves errno alone. The deadline is absolute: a retry
    // after a signal cannot drift.
    do {
        error = clock_nanosleep((clockid_t)clock, TIMER_ABSTIME, &deadline, NULL);
    } while (error == EINTR);
    if (error != 0) hrt_impossible("clock_nanosleep", error);
}

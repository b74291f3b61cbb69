// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_TIMERFD_H
#define HRT_TIMERFD_H

#include <sys/timerfd.h>

#include "../hrt_status.h"
#include "../include/hrt_clock.h"

// Arms a timerfd for an instant of its clock, or disarms it for HRT_NEVER. An instant at or before
// the clock's zero becomes the clock's first nanosecond, because zero would disarm
// (timerfd_settime(2)). Returns 0, or the negative errno with which a filter of system calls
// refuses it.
static inline int hrt_timerfd_try(int fd, int64_t deadline_ns) {
    struct itimerspec spec = {0};
    if (deadline_ns != HRT_NEVER) {
        spec.it_value = hrt_timespec_from_ns(deadline_ns);
        if (deadline_ns <= 0) spec.it_value.tv_nsec = 1;
    }
    return HRT_STATUS(timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL));
}

// Arms a timerfd of CLOCK_REALTIME for an instant that does not come, the year 2262, so that each
// step of the clock ends a read of it with ECANCELED (timerfd_create(2)). Returns 0, or the
// negative errno with which a filter of system calls refuses it.
static inline int hrt_timerfd_notice_steps(int fd) {
    struct itimerspec spec = {.it_value = {.tv_sec = INT64_MAX / 1000000000}};
    int flags = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
    return HRT_STATUS(timerfd_settime(fd, flags, &spec, NULL));
}

// Arms a timerfd that was armed before, like hrt_timerfd_try; this cannot fail.
static inline void hrt_timerfd_arm(int fd, int64_t deadline_ns) {
    hrt_must("timerfd_settime", hrt_timerfd_try(fd, deadline_ns));
}

#endif

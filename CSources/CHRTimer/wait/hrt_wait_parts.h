// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_WAIT_PARTS_H
#define HRT_WAIT_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../include/hrt_wait.h"

struct hrt_wait {
    // 1 while a wake is pending. The futex kind sleeps on this word; the timerfd uses it to skip
    // waits and needless wakes.
    _Atomic uint32_t woken;
    hrt_wait_kind kind;
    hrt_clock clock;
    int64_t tick_ns;  // hrt_clock_tick_ns of the clock
    struct {
        int epoll_fd;
        int timer_fd;
        int wake_fd;
        int alarm_fd;  // used in place of timer_fd to wake a suspended system; -1 for none
        int later_fd;  // a timer that other threads arm, for a wake at a later instant
        _Atomic int64_t later_ns;  // deadline of later_fd; HRT_NEVER once it has ended a wait
        int64_t armed_ns;          // the deadline of timer_fd; only the waiting thread touches it
    } timerfd;
};

static inline int hrt_wait_consume_wake(hrt_wait *wait) {
    return atomic_exchange(&wait->woken, 0) ? HRT_WAIT_WOKEN : HRT_WAIT_TIMED_OUT;
}

// Each kind has its own file: hrt_wait_futex.c, hrt_wait_timerfd.c. `open` returns 0 or a negative
// errno. Files call in one direction: precise -> wait -> futex, timerfd.
int hrt_wait_futex_until(hrt_wait *wait, int64_t deadline_ns);
void hrt_wait_futex_wake(hrt_wait *wait);

int hrt_wait_timerfd_open(hrt_wait *wait);
void hrt_wait_timerfd_close(hrt_wait *wait);
int hrt_wait_timerfd_until(hrt_wait *wait, int64_t deadline_ns);
void hrt_wait_timerfd_wake(hrt_wait *wait);
int hrt_wait_timerfd_wake_system(hrt_wait *wait);
bool hrt_wait_timerfd_wake_at(hrt_wait *wait, int64_t deadline_ns);

#endif

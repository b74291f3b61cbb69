#ifndef HRT_SHARED_ALARM_H
#define HRT_SHARED_ALARM_H

#include <stdint.h>

#include "hrt_clock.h"

// An alarm for a leader and followers: the thread that it wakes goes about its work, and another
// one waits for what comes next. It is set on two clocks, HRT_CLOCK_MONOTONIC and
// HRT_CLOCK_BOOT, for one instant each, and each time that one of these comes it wakes one of the
// threads: the one that came last, whose stack is the warmest. If it expires while nobody waits,
// the next thread returns at once.
//
// Two absolute timerfds under epoll(7), both edge-triggered and never read; threads in
// epoll_wait(2) are exclusive waiters.
typedef struct hrt_shared_alarm hrt_shared_alarm;

// 0, -ENOMEM, -EMFILE, -ENFILE, or what a filter of system calls refuses with (seccomp(2)).
int hrt_shared_alarm_create(hrt_shared_alarm **out_alarm);

// No thread may wait.
void hrt_shared_alarm_destroy(hrt_shared_alarm *alarm);

// Sets it on that clock, whatever it was set to: HRT_NEVER disarms it, a past instant expires now.
// Any thread; concurrent calls have no order unless the callers make one. One system call.
void hrt_shared_alarm_set(hrt_shared_alarm *alarm, hrt_clock clock, int64_t instant_ns);

// Returns when it expires, never before the instant; sometimes without, when it was rescheduled
// while it expired. Any number of threads.
void hrt_shared_alarm_wait(hrt_shared_alarm *alarm);

#endif

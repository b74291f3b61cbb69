#ifndef HRT_SHARED_ALARM_H
#define HRT_SHARED_ALARM_H

#include <stdint.h>

#include "hrt_clock.h"

// An alarm for a leader and followers: the thread that it wakes does its work, and another one
// waits for the next instant. It is set on two clocks, HRT_CLOCK_MONOTONIC and HRT_CLOCK_BOOT, for
// one instant each. At each of these it wakes one thread: the one that began to wait last, whose
// stack is most likely in the cache. If it expires while no thread waits, the next wait returns at
// once.
//
// Two absolute timerfds under epoll(7), both edge-triggered and never read; threads in
// epoll_wait(2) are exclusive waiters.
typedef struct hrt_shared_alarm hrt_shared_alarm;

// 0, -ENOMEM, -EMFILE, -ENFILE, or the errno of a filter of system calls (seccomp(2)).
int hrt_shared_alarm_create(hrt_shared_alarm **out_alarm);

// No thread may wait.
void hrt_shared_alarm_destroy(hrt_shared_alarm *alarm);

// Sets it on that clock, replacing the former instant: HRT_NEVER disarms it, a past instant expires
// now. Any thread; the callers must order concurrent calls. One system call.
void hrt_shared_alarm_set(hrt_shared_alarm *alarm, hrt_clock clock, int64_t instant_ns);

// Returns when it expires, never before the instant. It may return spuriously when it was
// rescheduled while it expired. Any number of threads.
void hrt_shared_alarm_wait(hrt_shared_alarm *alarm);

#endif

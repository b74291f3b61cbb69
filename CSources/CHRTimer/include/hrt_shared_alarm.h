#ifndef HRT_SHARED_ALARM_H
#define HRT_SHARED_ALARM_H

#include <stdint.h>

#include "hrt_clock.h"

// An alarm for a leader and followers: the thread that the alarm wakes does its work, and another
// thread waits for the next instant. The alarm is set on two clocks, HRT_CLOCK_MONOTONIC and
// HRT_CLOCK_BOOT, for one instant each. At each of these instants it wakes one thread: the one that
// began to wait last, whose stack is most likely in the cache. If the alarm expires while no thread
// waits, the next wait returns at once.
//
// It consists of two absolute timerfds under epoll(7), both edge-triggered and never read. Threads
// in epoll_wait(2) are exclusive waiters.
typedef struct hrt_shared_alarm hrt_shared_alarm;

// Creates an alarm. Returns 0, -ENOMEM, -EMFILE, -ENFILE, or the errno with which a filter of
// system calls refuses a call (seccomp(2)).
int hrt_shared_alarm_create(hrt_shared_alarm **out_alarm);

// Frees the alarm. No thread may be waiting.
void hrt_shared_alarm_destroy(hrt_shared_alarm *alarm);

// Sets the alarm on that clock, replacing the former instant: HRT_NEVER disarms it, a past instant
// makes it expire now. Any thread; the callers must order concurrent calls. One system call.
void hrt_shared_alarm_set(hrt_shared_alarm *alarm, hrt_clock clock, int64_t instant_ns);

// Returns when the alarm expires, never before the instant. May return spuriously if the alarm was
// rescheduled while it expired. Any number of threads may wait.
void hrt_shared_alarm_wait(hrt_shared_alarm *alarm);

#endif

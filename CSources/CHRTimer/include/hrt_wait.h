#ifndef HRT_WAIT_H
#define HRT_WAIT_H

#include <stdint.h>

#include "hrt_clock.h"

// A way for one thread to wait until an absolute instant of CLOCK_MONOTONIC, or until another thread wakes it.
typedef struct hrt_wait hrt_wait;

typedef enum {
    // FUTEX_WAIT_BITSET with an absolute timeout: one system call a wait, no descriptor. Subject to the thread's timer
    // slack, as clock_nanosleep is.
    HRT_WAIT_FUTEX = 0,
    // An absolute timerfd and an eventfd in one epoll set, both edge-triggered and never read. Exempt from timer slack;
    // waits with descriptors of the host can be added to.
    HRT_WAIT_TIMERFD = 1,
} hrt_wait_kind;

enum { HRT_WAIT_TIMED_OUT = 0, HRT_WAIT_WOKEN = 1 };

// 0, -ENOMEM, or for HRT_WAIT_TIMERFD also -EMFILE, -ENFILE.
int hrt_wait_create(hrt_wait_kind kind, hrt_wait **out_wait);

// No thread may be inside a wait or a wake.
void hrt_wait_destroy(hrt_wait *wait);

// Blocks until CLOCK_MONOTONIC reads deadline_ns or later (HRT_WAIT_TIMED_OUT, never early), or until a wake that was not
// yet consumed (HRT_WAIT_WOKEN, consumes it). A past deadline returns at once. HRT_NEVER waits for a wake alone.
// One thread at a time.
int hrt_wait_until(hrt_wait *wait, int64_t deadline_ns);

// Ends the current wait, or the next one if none is going on. Wakes that come before the waiter returned count as one.
// Any thread; async-signal-safe.
void hrt_wait_wake(hrt_wait *wait);

#endif

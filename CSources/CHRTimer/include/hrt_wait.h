#ifndef HRT_WAIT_H
#define HRT_WAIT_H

#include <stdint.h>

#include "hrt_clock.h"
#include "hrt_margin.h"

// A way for one thread to wait until an absolute instant of CLOCK_MONOTONIC, or until another thread wakes it.
typedef struct hrt_wait hrt_wait;

typedef enum {
    // FUTEX_WAIT_BITSET with an absolute timeout: one system call a wait, no descriptor. Subject to the thread's timer
    // slack, as clock_nanosleep is.
    HRT_WAIT_FUTEX = 0,
    // An absolute timerfd and an eventfd in one epoll set, both edge-triggered and never read. Exempt from timer slack.
    HRT_WAIT_TIMERFD = 1,
    // clock_nanosleep with TIMER_ABSTIME, woken by the signal SIGRTMAX - 1, for which the first hrt_wait_create installs a
    // handler in the process. Only the waiting thread may have the signal unblocked.
    HRT_WAIT_NANOSLEEP = 2,
    // The loop of hrt_loop.h: five descriptors, libevent in between.
    HRT_WAIT_LIBEVENT = 3,
    // Reads the clock until the deadline: a whole processor, no system call.
    HRT_WAIT_SPIN = 4,
} hrt_wait_kind;

enum { HRT_WAIT_TIMED_OUT = 0, HRT_WAIT_WOKEN = 1 };

// 0, -ENOMEM; for HRT_WAIT_TIMERFD and HRT_WAIT_LIBEVENT also -EMFILE, -ENFILE; for HRT_WAIT_NANOSLEEP -EBUSY if the program
// has a handler of its own for the signal.
int hrt_wait_create(hrt_wait_kind kind, hrt_wait **out_wait);

// No thread may be inside a wait or a wake.
void hrt_wait_destroy(hrt_wait *wait);

// Blocks until CLOCK_MONOTONIC reads deadline_ns or later (HRT_WAIT_TIMED_OUT, never early), or until a wake that was not
// yet consumed (HRT_WAIT_WOKEN, consumes it). A past deadline returns at once. HRT_NEVER waits for a wake alone.
// One thread at a time.
int hrt_wait_until(hrt_wait *wait, int64_t deadline_ns);

// What the precise wait spent.
typedef struct {
    int64_t spun_ns;
    int64_t wake_latency_ns;  // how long after the instant asked for the sleep ended; -1 if there was none, or a wake ended it
} hrt_wait_cost;

// As hrt_wait_until, but sleeps only until the margin before the deadline, and reads the clock for the rest. Gives the
// processor to others while more than 20 us are left (sched_yield(2)), so that two that spin on one processor do not starve
// each other. The margin learns from the wait. `out_cost` is always written.
int hrt_wait_precisely_until(hrt_wait *wait, int64_t deadline_ns, hrt_margin *margin, hrt_wait_cost *out_cost);

// Ends the current wait, or the next one if none is going on. Wakes that come before the waiter returned count as one.
// Any thread; async-signal-safe.
void hrt_wait_wake(hrt_wait *wait);

#endif

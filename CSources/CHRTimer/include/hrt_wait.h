// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_WAIT_H
#define HRT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "hrt_clock.h"
#include "hrt_spin_window.h"

#ifdef __cplusplus
extern "C" {
#endif

// One thread's wait until an absolute instant of one clock, or until another thread wakes it.
//
// When the wall clock is set, the kernel checks its timers again (clock_was_set in
// kernel/time/hrtimer.c): a step forward past the deadline ends a wait at once, and a step back
// makes a wait longer. So every wait here has one absolute deadline; TFD_TIMER_CANCEL_ON_SET would
// only report a step that needs no reaction. On resume from suspend the kernel checks the timers of
// the boot-time clock too.
typedef struct hrt_wait hrt_wait;

typedef enum {
    // FUTEX_WAIT_BITSET with an absolute timeout: one system call per wait, no descriptor. Subject
    // to the thread's timer slack, as clock_nanosleep is. FUTEX_CLOCK_REALTIME for the wall clock;
    // futex(2) has no boot-time clock.
    HRT_WAIT_FUTEX = 0,
    // An absolute timerfd, a second one for hrt_wait_wake_at, and an eventfd in one epoll set, all
    // edge-triggered and never read. Exempt from timer slack.
    HRT_WAIT_TIMERFD = 1,
} hrt_wait_kind;

enum { HRT_WAIT_TIMED_OUT = 0, HRT_WAIT_WOKEN = 1 };

// Creates a wait. Returns 0, -ENOMEM, or the errno with which a filter refuses a system call that
// the kind needs (seccomp(2)). For HRT_WAIT_FUTEX also -ENOTSUP on HRT_CLOCK_BOOT; for
// HRT_WAIT_TIMERFD also -EMFILE, -ENFILE.
int hrt_wait_create(hrt_wait_kind kind, hrt_clock clock, hrt_wait **out_wait);

// Frees the wait. No thread may be inside a wait or a wake.
void hrt_wait_destroy(hrt_wait *wait);

// Makes later waits also wake a suspended system at their deadlines (CLOCK_BOOTTIME_ALARM). Must be
// called by the waiting thread, before it waits. If the process loses the right later, its waits no
// longer wake the system. Returns 0; -EPERM without CAP_WAKE_ALARM; -EINVAL for a clock other than
// HRT_CLOCK_BOOT, or a kind other than HRT_WAIT_TIMERFD; or the errno of timerfd_create(2).
int hrt_wait_wake_system(hrt_wait *wait);

// Blocks until the clock reads deadline_ns or later (HRT_WAIT_TIMED_OUT, never early), or until
// there is a wake that was not yet consumed (HRT_WAIT_WOKEN, consumes it). A past deadline returns
// at once. HRT_NEVER waits only for a wake. One thread at a time.
int hrt_wait_until(hrt_wait *wait, int64_t deadline_ns);

// The first part of a precise wait: like hrt_wait_until, but only until the spin window before the
// deadline begins. Records the latency of the wake in the spin window. Returns at once if the spin
// window has begun.
int hrt_wait_until_spin_window(hrt_wait *wait, int64_t deadline_ns, hrt_spin_window *window);

// The second part of a precise wait: reads the clock until the deadline, or until a wake, which it
// consumes. Stores the last reading and the time spun, and spends that time from the spin window's
// budget. If the wall clock is set back meanwhile, it sleeps before it spins on.
int hrt_wait_spin_until(hrt_wait *wait, int64_t deadline_ns, hrt_spin_window *window,
                        int64_t *out_now_ns, int64_t *out_spun_ns);

// Ends the current wait, or the next one if no wait is going on. Wakes that come before the waiter
// has returned count as one. Any thread; async-signal-safe.
void hrt_wait_wake(hrt_wait *wait);

// Ends the current wait, as if woken, when the clock reaches deadline_ns: so a thread that arms an
// earlier deadline need not wake the waiter now. A wait that begins later must use that deadline
// itself, and may be woken once needlessly. Does nothing and returns false unless the kind is
// HRT_WAIT_TIMERFD: call hrt_wait_wake instead. Any thread. timerfd_settime(2).
bool hrt_wait_wake_at(hrt_wait *wait, int64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif

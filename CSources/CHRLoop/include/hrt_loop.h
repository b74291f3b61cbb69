// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_LOOP_H
#define HRT_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "CHRTimer.h"

#ifdef __cplusplus
extern "C" {
#endif

// One thread's wait for three things at once: an absolute instant of CLOCK_MONOTONIC, a wake from
// another thread, and descriptors that become readable or writable. It consists of a libevent
// event_base (an epoll set where HRT_LIBEVENT is not defined) and a timerfd. The timerfd is also
// made readable for wakes (TFD_IOC_SET_TICKS, timerfd_create(2)). libevent's own timeouts are not
// used, because they are relative and in microseconds.
//
// All functions belong to one thread at a time, except hrt_loop_wake and hrt_loop_is_woken.
typedef struct hrt_loop hrt_loop;

// A descriptor that a loop watches.
typedef struct hrt_watch hrt_watch;

// The events that a descriptor is watched for, or is ready for. A hang-up or an error is reported
// as the requested events: the read or write that follows shows it.
enum { HRT_READABLE = 1, HRT_WRITABLE = 2, HRT_EDGE = 4 };

// Why a wait ended: 0 for the deadline, otherwise a set of these flags.
enum { HRT_LOOP_WOKEN = 1, HRT_LOOP_READY = 2 };

typedef struct {
    uint64_t tag;     // the tag that the descriptor was watched with
    uint32_t events;  // HRT_READABLE | HRT_WRITABLE
} hrt_ready;

// Creates a loop. Returns 0, -ENOMEM, -EMFILE, -ENFILE, or the errno of a filter of system calls,
// such as -EPERM (seccomp(2)). A loop takes four descriptors, all close-on-exec and non-blocking:
// the timerfd, libevent's epoll set, and the signal pipe that libevent 2.1 makes in each base
// (evsig_init_ in signal.c), which this library never uses. Without libevent it takes two: the
// timerfd and the epoll set.
int hrt_loop_create(hrt_loop *_Nullable *_Nonnull out_loop);

struct event_base;

// Creates a loop that runs as events on an event_base of the caller's, which does the waiting. It
// takes one descriptor, the timerfd, and works on every libevent backend, with or without locks.
// The base must outlive the loop, or the loop must leave it first. hrt_loop_wait and the precise
// waits must not be called. Returns 0, -ENOMEM, -EMFILE, -ENFILE; -ENOTSUP without libevent.
int hrt_loop_create_on(struct event_base *_Nonnull base, hrt_loop *_Nullable *_Nonnull out_loop);

// Sets the function that the base calls, on its thread, when there is something to do. The function
// must call hrt_loop_poll, which reports what there is to do, and then hrt_loop_arm.
void hrt_loop_set_host(hrt_loop *_Nonnull loop, void (*_Nonnull on_host)(void *_Nullable context),
                       void *_Nullable context);

// Makes the base call `on_ready` on its thread while the descriptor, for example a loop's, is
// readable. The host must be removed on that thread before the base is freed. Returns 0, -ENOMEM,
// or the errno with which the base's backend refuses the descriptor; -ENOTSUP without libevent.
typedef struct hrt_host hrt_host;
int hrt_host_add(struct event_base *_Nonnull base, int fd,
                 void (*_Nonnull on_ready)(void *_Nullable context), void *_Nullable context,
                 hrt_host *_Nullable *_Nonnull out_host);
void hrt_host_remove(hrt_host *_Nonnull host);

// Removes a loop's events from its host's base; allowed inside on_host too. No descriptor may be
// watched any more. Afterwards the loop can be woken and destroyed, without effect on the base.
// Must be called on the thread of the base. Does nothing to a loop with a base of its own.
void hrt_loop_leave_host(hrt_loop *_Nonnull loop);

// Frees the loop. No descriptor may be watched any more, and no thread may be inside a wake.
void hrt_loop_destroy(hrt_loop *_Nonnull loop);

// Tells the loop that the calling thread begins to wait on it. The loop allows for the thread's
// timer slack, which is read here and not at each wait: that saves a system call per wait. Without
// this call the slack counts as 0. A slack that the thread sets later counts from the next call of
// this function; until then a wait may be late by as much. Cannot fail.
void hrt_loop_enter(hrt_loop *_Nonnull loop);

// Blocks until the loop's clock reads deadline_ns or later (returns 0, never early), until a wake
// is pending (HRT_LOOP_WOKEN; the wait consumes it), or until a descriptor is ready
// (HRT_LOOP_READY). With a past deadline it checks everything without blocking. HRT_NEVER is no
// deadline. The timerfd is armed only if the deadline differs from the one it has, or if it has
// expired: timerfd_settime(2) with TFD_TIMER_ABSTIME, event_base_loop with EVLOOP_ONCE. A loop of
// hrt_loop_create that watches nothing sleeps in futex(2) instead.
int hrt_loop_wait(hrt_loop *_Nonnull loop, int64_t deadline_ns);

// The first part of a precise wait: like hrt_loop_wait, but only until the spin window before the
// deadline begins. If it has begun already, checks everything once and returns.
int hrt_loop_wait_until_spin_window(hrt_loop *_Nonnull loop, int64_t deadline_ns,
                                    hrt_spin_window *_Nonnull window);

// The second part of a precise wait, if the first found nothing: reads the clock until the deadline
// (returns 0), or until a wake, after which it also checks the descriptors. Without a wake, the
// next wait or poll finds the descriptors that become ready meanwhile. Stores the last reading and
// the time spun.
int hrt_loop_spin(hrt_loop *_Nonnull loop, int64_t deadline_ns, hrt_spin_window *_Nonnull window,
                  int64_t *_Nonnull out_now_ns, int64_t *_Nonnull out_spun_ns);

// Checks everything without blocking, like a wait for a past deadline. Makes no system call if
// nothing is watched.
int hrt_loop_poll(hrt_loop *_Nonnull loop);

// Takes the descriptors that the last wait or poll found ready, in the poller's order; each is
// returned once. Writes the address of the first, valid until the next wait, and returns how many
// there are.
size_t hrt_loop_take_ready(hrt_loop *_Nonnull loop, const hrt_ready *_Nullable *_Nonnull out_ready);

// Returns a descriptor for a host that waits by itself. It is readable while a wait would end at
// once, because an armed deadline has passed, a wake is pending, or a watched descriptor is ready.
// It belongs to the loop. Returns -ENOTSUP if libevent's epoll set cannot be found.
int hrt_loop_descriptor(const hrt_loop *_Nonnull loop);

// Arms the loop for a deadline without waiting: the loop's descriptor becomes readable at the
// deadline, or at once if a wake is pending. Earlier expirations no longer make it readable.
void hrt_loop_arm(hrt_loop *_Nonnull loop, int64_t deadline_ns);

// Ends the current wait, or the next one if no wait is going on. Wakes that come before the waiter
// has returned count as one. Any thread; async-signal-safe.
void hrt_loop_wake(hrt_loop *_Nonnull loop);

// Returns 1 if a wake is pending; does not consume it. Any thread.
int hrt_loop_is_woken(const hrt_loop *_Nonnull loop);

// Returns 0 if the descriptor can be watched, -EBADF if it is not open, and -EPERM for a regular
// file, a directory, or a device that is always ready, such as /dev/null: epoll refuses these. Any
// thread.
int hrt_loop_can_watch(int fd);

// Watches a descriptor, level-triggered: every wait reports it as long as it is ready. With
// HRT_EDGE one wait reports it when it becomes ready or gets more input; all watches of a
// descriptor must agree on HRT_EDGE. The caller closes the descriptor, after hrt_loop_unwatch. One
// descriptor may be watched more than once. Returns 0, -EBADF, -EPERM, -ENOMEM, -ENOSPC
// (/proc/sys/fs/epoll/max_user_watches).
int hrt_loop_watch(hrt_loop *_Nonnull loop, int fd, uint32_t events, uint64_t tag,
                   hrt_watch *_Nullable *_Nonnull out_watch);

// Ends and frees the watch. Events that it reported in the last wait stay listed.
void hrt_loop_unwatch(hrt_loop *_Nonnull loop, hrt_watch *_Nonnull watch);

#ifdef __cplusplus
}
#endif

#endif

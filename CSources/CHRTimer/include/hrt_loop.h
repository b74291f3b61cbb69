#ifndef HRT_LOOP_H
#define HRT_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "hrt_clock.h"
#include "hrt_spin_window.h"

// One thread's wait for three things at once: an absolute instant of CLOCK_MONOTONIC, a wake from
// another thread, and descriptors that become readable or writable. A libevent event_base, or where
// HRT_LIBEVENT is not defined an epoll set, with a timerfd, which is also made readable for wakes
// (TFD_IOC_SET_TICKS, timerfd_create(2)). libevent's own timeouts are not used, as they are
// relative and in microseconds.
//
// All functions belong to one thread at a time, except hrt_loop_wake and hrt_loop_is_woken.
typedef struct hrt_loop hrt_loop;

// A descriptor that a loop watches.
typedef struct hrt_watch hrt_watch;

// What to watch a descriptor for, and what it is ready for. A hang-up or an error is reported as
// the requested events: the read or write that follows shows it.
enum { HRT_READABLE = 1, HRT_WRITABLE = 2, HRT_EDGE = 4 };

// Why a wait ended: 0 for the deadline, otherwise a set of these.
enum { HRT_LOOP_WOKEN = 1, HRT_LOOP_READY = 2 };

typedef struct {
    uint64_t tag;     // what the descriptor was watched with
    uint32_t events;  // HRT_READABLE | HRT_WRITABLE
} hrt_ready;

// 0, -ENOMEM, -EMFILE, -ENFILE, or the errno of a filter of system calls, such as -EPERM
// (seccomp(2)). Takes four descriptors, all close-on-exec and non-blocking: the timerfd, libevent's
// epoll set, and the signal pipe that libevent 2.1 makes in each base (evsig_init_ in signal.c),
// which this library never uses. Without libevent two: the timerfd and the epoll set.
int hrt_loop_create(hrt_loop *_Nullable *_Nonnull out_loop);

// The same with deadlines on any clock, and always waiting in libevent.
int hrt_loop_create_for(hrt_clock clock, hrt_loop *_Nullable *_Nonnull out_loop);

struct event_base;

// A loop that runs as events on an event_base of the caller's, which does the waiting. Takes one
// descriptor, the timerfd; works on every libevent backend, with or without locks. The base must
// outlive the loop, or the loop must leave it first. hrt_loop_wait and the precise waits must not
// be called. 0, -ENOMEM, -EMFILE, -ENFILE; -ENOTSUP without libevent.
int hrt_loop_create_on(struct event_base *_Nonnull base, hrt_loop *_Nullable *_Nonnull out_loop);

// Sets the function that the base calls, on its thread, when there is something to do. It must call
// hrt_loop_poll, which reports what, and then hrt_loop_arm.
void hrt_loop_set_host(hrt_loop *_Nonnull loop, void (*_Nonnull on_host)(void *_Nullable context),
                       void *_Nullable context);

// Has the base call `on_ready` on its thread while the descriptor, such as a loop's, is readable.
// The host must be removed on that thread before the base is freed. 0, -ENOMEM, or the errno with
// which the base's backend refuses the descriptor; -ENOTSUP without libevent.
typedef struct hrt_host hrt_host;
int hrt_host_add(struct event_base *_Nonnull base, int fd,
                 void (*_Nonnull on_ready)(void *_Nullable context), void *_Nullable context,
                 hrt_host *_Nullable *_Nonnull out_host);
void hrt_host_remove(hrt_host *_Nonnull host);

// Removes a loop's events from its host's base, also inside on_host. Nothing may be watched any
// more. Afterwards the loop can be woken and destroyed, without effect on the base. On the thread
// of the base. Does nothing to a loop with a base of its own.
void hrt_loop_leave_host(hrt_loop *_Nonnull loop);

// Nothing may be watched any more, and no thread may be inside a wake.
void hrt_loop_destroy(hrt_loop *_Nonnull loop);

// The calling thread begins to wait: the loop goes by its timer slack, which is read here and not
// at each wait, a system call less. Without this it counts as none. What the thread sets its slack
// to later counts from the next call; until then a wait may be late by as much. Cannot fail.
void hrt_loop_enter(hrt_loop *_Nonnull loop);

// Blocks until CLOCK_MONOTONIC reads deadline_ns or later (0, never early), or until a wake is
// pending (HRT_LOOP_WOKEN, which consumes it) or a descriptor is ready (HRT_LOOP_READY). A past
// deadline checks everything without blocking. HRT_NEVER is no deadline. The timerfd is armed only
// for another deadline than it has, or if it has expired. timerfd_settime(2) with
// TFD_TIMER_ABSTIME, event_base_loop with EVLOOP_ONCE. A loop of hrt_loop_create that watches
// nothing sleeps in futex(2) instead.
int hrt_loop_wait(hrt_loop *_Nonnull loop, int64_t deadline_ns);

// The first part of a precise wait: as hrt_loop_wait, but until the spin window before the
// deadline. If the spin window has begun, it checks everything once and returns.
int hrt_loop_wait_until_spin_window(hrt_loop *_Nonnull loop, int64_t deadline_ns,
                                    hrt_spin_window *_Nonnull window);

// The second part, if the first found nothing: reads the clock until the deadline (0), or until a
// wake, which also checks the descriptors. Otherwise the next wait or poll finds those that become
// ready meanwhile. Stores the last reading and the time spun.
int hrt_loop_spin(hrt_loop *_Nonnull loop, int64_t deadline_ns, hrt_spin_window *_Nonnull window,
                  int64_t *_Nonnull out_now_ns, int64_t *_Nonnull out_spun_ns);

// As a wait for a past deadline. No system call if nothing is watched.
int hrt_loop_poll(hrt_loop *_Nonnull loop);

// The descriptors that the last wait or poll found ready, in the poller's order, returned once.
// Writes the address of the first, valid until the next wait, and returns how many.
size_t hrt_loop_take_ready(hrt_loop *_Nonnull loop, const hrt_ready *_Nullable *_Nonnull out_ready);

// For a host that waits by itself: a descriptor that is readable while a wait would end at once,
// since an armed deadline has passed, a wake is pending, or a watched descriptor is ready. Belongs
// to the loop. -ENOTSUP if libevent's epoll set cannot be found.
int hrt_loop_descriptor(const hrt_loop *_Nonnull loop);

// Arms the loop for a deadline without waiting: its descriptor becomes readable then, or at once if
// a wake is pending. Former expirations no longer make it readable.
void hrt_loop_arm(hrt_loop *_Nonnull loop, int64_t deadline_ns);

// Ends the current wait, or the next one if none is going on. Wakes that come before the waiter
// returned count as one. Any thread; async-signal-safe.
void hrt_loop_wake(hrt_loop *_Nonnull loop);

// 1 if a wake is pending; does not consume it. Any thread.
int hrt_loop_is_woken(const hrt_loop *_Nonnull loop);

// 0 if the descriptor can be watched. -EBADF if it is not open. -EPERM for a regular file, a
// directory, or a device that is always ready, as /dev/null: epoll refuses these. Any thread.
int hrt_loop_can_watch(int fd);

// Watches a descriptor, level-triggered: every wait reports it as long as it is ready. With
// HRT_EDGE one wait reports it when it becomes ready or gets more input; all watches of a
// descriptor must agree on HRT_EDGE. The caller closes the descriptor, after hrt_loop_unwatch. One
// descriptor may be watched more than once. 0, -EBADF, -EPERM, -ENOMEM, -ENOSPC
// (/proc/sys/fs/epoll/max_user_watches).
int hrt_loop_watch(hrt_loop *_Nonnull loop, int fd, uint32_t events, uint64_t tag,
                   hrt_watch *_Nullable *_Nonnull out_watch);

// Frees the watch. What it reported in the last wait stays listed.
void hrt_loop_unwatch(hrt_loop *_Nonnull loop, hrt_watch *_Nonnull watch);

#endif

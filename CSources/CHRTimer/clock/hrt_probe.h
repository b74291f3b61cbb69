// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_PROBE_H
#define HRT_PROBE_H

// Finds out whether the kernel lets the process wait: a filter of system calls (seccomp(2)) may
// allow the descriptors and refuse the calls that wait on them. Creating an object can fail, but
// its first wait cannot: so this is found out at creation.

// Tries timerfd_settime(2), which disarms the timer, and epoll_wait(2) on the set, in which nothing
// is ready. Returns 0 or a negative errno.
int hrt_probe(int epoll_fd, int timer_fd);

// Like hrt_probe, but with an epoll set of its own, which it closes; also tries epoll_ctl(2) and
// poll(2).
int hrt_probe_timer(int timer_fd);

#endif

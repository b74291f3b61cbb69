#ifndef HRT_PROBE_H
#define HRT_PROBE_H

// Whether the kernel lets the process wait: a filter of system calls (seccomp(2)) may refuse what
// waits are made of although it gives the descriptors. Better known when something is made, which
// can fail, than at its first wait, which cannot.

// timerfd_settime(2) of the timer, which it disarms, and epoll_wait(2) of the set, which has
// nothing that is ready. 0 or a negative errno.
int hrt_probe(int epoll_fd, int timer_fd);

// The same, and epoll_ctl(2), by a set of its own, which it closes; and poll(2).
int hrt_probe_timer(int timer_fd);

#endif

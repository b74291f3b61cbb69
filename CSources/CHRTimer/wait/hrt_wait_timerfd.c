// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../clock/hrt_probe.h"
#include "../clock/hrt_timerfd.h"
#include "hrt_wait_parts.h"

// Adds a descriptor to the set, edge-triggered: each settime and each write is a new edge, so that
// none of the descriptors need be read.
static int watch(hrt_wait *wait, int fd) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    return HRT_STATUS(epoll_ctl(wait->timerfd.epoll_fd, EPOLL_CTL_ADD, fd, &event));
}

// Stores the descriptor and adds it to the set, or returns the error of the call that opened it.
static int keep(hrt_wait *wait, long fd, int *out_fd) {
    *out_fd = (int)fd;
    return fd < 0 ? (int)fd : watch(wait, (int)fd);
}

static int open_timer(hrt_wait *wait, int *out_fd) {
    return keep(wait, HRT_CALL(timerfd_create((int)wait->clock, TFD_CLOEXEC | TFD_NONBLOCK)),
                out_fd);
}

static int open_descriptors(hrt_wait *wait) {
    wait->timerfd.epoll_fd = (int)HRT_CALL(epoll_create1(EPOLL_CLOEXEC));
    if (wait->timerfd.epoll_fd < 0) return wait->timerfd.epoll_fd;
    int status = open_timer(wait, &wait->timerfd.timer_fd);
    if (status == 0) status = open_timer(wait, &wait->timerfd.later_fd);
    if (status == 0) {
        long fd = HRT_CALL(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        status = keep(wait, fd, &wait->timerfd.wake_fd);
    }
    if (status != 0) return status;
    return hrt_probe(wait->timerfd.epoll_fd, wait->timerfd.timer_fd);
}

int hrt_wait_timerfd_open(hrt_wait *wait) {
    wait->timerfd.epoll_fd = wait->timerfd.timer_fd = wait->timerfd.wake_fd = -1;
    wait->timerfd.later_fd = wait->timerfd.alarm_fd = -1;
    atomic_init(&wait->timerfd.later_ns, HRT_NEVER);
    wait->timerfd.armed_ns = HRT_NEVER;
    int status = open_descriptors(wait);
    if (status != 0) hrt_wait_timerfd_close(wait);
    return status;
}

void hrt_wait_timerfd_close(hrt_wait *wait) {
    if (wait->timerfd.epoll_fd >= 0) close(wait->timerfd.epoll_fd);
    if (wait->timerfd.timer_fd >= 0) close(wait->timerfd.timer_fd);
    if (wait->timerfd.wake_fd >= 0) close(wait->timerfd.wake_fd);
    if (wait->timerfd.later_fd >= 0) close(wait->timerfd.later_fd);
    if (wait->timerfd.alarm_fd >= 0) close(wait->timerfd.alarm_fd);
}

int hrt_wait_timerfd_wake_system(hrt_wait *wait) {
    if (wait->clock != HRT_CLOCK_BOOT) return -EINVAL;
    long fd = HRT_CALL(timerfd_create(CLOCK_BOOTTIME_ALARM, TFD_CLOEXEC | TFD_NONBLOCK));
    int status = keep(wait, fd, &wait->timerfd.alarm_fd);
    if (status == 0) status = hrt_timerfd_try(wait->timerfd.alarm_fd, HRT_NEVER);
    if (status == 0) return 0;
    if (fd >= 0) close((int)fd);
    wait->timerfd.alarm_fd = -1;
    return status;
}

// Arms the alarm if there is one. Returns false if there is none, and for good once the process no
// longer has the right to it: each arming takes CAP_WAKE_ALARM, timerfd_create(2).
static bool arm_alarm(hrt_wait *wait, int64_t deadline_ns) {
    if (wait->timerfd.alarm_fd < 0) return false;
    int status = hrt_timerfd_try(wait->timerfd.alarm_fd, deadline_ns);
    if (status != -EPERM) return hrt_must("timerfd_settime", status) == 0;
    close(wait->timerfd.alarm_fd);
    wait->timerfd.alarm_fd = -1;
    return false;
}

static void arm_timer_fd(hrt_wait *wait, int64_t deadline_ns) {
    // Arms the timerfd even for the deadline that it already has: a timerfd that has expired makes
    // no new edge by itself.
    if (deadline_ns == HRT_NEVER && wait->timerfd.armed_ns == HRT_NEVER) return;
    if (!arm_alarm(wait, deadline_ns)) hrt_timerfd_arm(wait->timerfd.timer_fd, deadline_ns);
    wait->timerfd.armed_ns = deadline_ns;
}

// For concurrent callers: each lowers the word, arms the timer, and then checks that the word still
// has its deadline. A wait that has begun since then knows the deadline itself; the timer then
// causes at most one needless wake.
bool hrt_wait_timerfd_wake_at(hrt_wait *wait, int64_t deadline_ns) {
    int64_t former_ns = atomic_load(&wait->timerfd.later_ns);
    do {
        if (former_ns <= deadline_ns) return true;
    } while (!atomic_compare_exchange_weak(&wait->timerfd.later_ns, &former_ns, deadline_ns));
    for (;;) {
        hrt_timerfd_arm(wait->timerfd.later_fd, deadline_ns);
        int64_t now_ns = atomic_load(&wait->timerfd.later_ns);
        if (now_ns >= deadline_ns) return true;
        deadline_ns = now_ns;
    }
}

int hrt_wait_timerfd_until(hrt_wait *wait, int64_t deadline_ns) {
    bool is_armed = false;
    struct epoll_event events[4];
    for (;;) {
        if (hrt_wait_consume_wake(wait) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
        // The clock decides, not the edge: the edge of a wake already consumed ends epoll_wait too.
        if (deadline_ns != HRT_NEVER && hrt_clock_now_ns(wait->clock) >= deadline_ns)
            return HRT_WAIT_TIMED_OUT;
        // Arms the timerfd again if it has expired and the wall clock was set back before it could
        // be read: there is no second edge.
        if (!is_armed) arm_timer_fd(wait, deadline_ns);
        is_armed = true;
        // No timeout is used, because it may be 0.1 % late by design (__estimate_accuracy in
        // fs/select.c).
        long count =
            hrt_must("epoll_wait", HRT_CALL(epoll_wait(wait->timerfd.epoll_fd, events, 4, -1)));
        bool is_later = false;
        for (long index = 0; index < count; index++) {
            is_armed &= events[index].data.fd != wait->timerfd.timer_fd &&
                        events[index].data.fd != wait->timerfd.alarm_fd;
            is_later |= events[index].data.fd == wait->timerfd.later_fd;
        }
        if (is_later) {
            // Done before the waiting thread looks why it was woken.
            atomic_store(&wait->timerfd.later_ns, HRT_NEVER);
            atomic_exchange(&wait->woken, 0);
            return HRT_WAIT_WOKEN;
        }
    }
}

void hrt_wait_timerfd_wake(hrt_wait *wait) {
    // EAGAIN means that the counter is full, and then the eventfd is readable as well.
    uint64_t one = 1;
    int status = HRT_STATUS(write(wait->timerfd.wake_fd, &one, sizeof one));
    if (status != -EAGAIN) hrt_must("write to eventfd", status);
}
#endif

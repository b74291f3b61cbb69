#include "include/hrt_wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "hrt_status.h"

struct hrt_wait {
    // 1 while a wake is pending. The futex sleeps on this word; the timerfd way uses it to skip waits and needless writes.
    _Atomic uint32_t woken;
    hrt_wait_kind kind;
    int epoll_fd;
    int timer_fd;
    int wake_fd;
    int64_t armed_ns;  // what timer_fd was last set to; only the waiting thread touches it
};

static int close_on_failure(hrt_wait *wait) {
    int error = errno;
    hrt_wait_destroy(wait);
    return -error;
}

// Both descriptors are edge-triggered: each settime and each write is a new edge, so that neither need be read.
static int watch(hrt_wait *wait, int fd) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    event.data.fd = fd;
    return epoll_ctl(wait->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int open_descriptors(hrt_wait *wait) {
    wait->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (wait->epoll_fd < 0) return -1;
    wait->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (wait->timer_fd < 0) return -1;
    wait->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wait->wake_fd < 0) return -1;
    if (watch(wait, wait->timer_fd) != 0) return -1;
    return watch(wait, wait->wake_fd);
}

int hrt_wait_create(hrt_wait_kind kind, hrt_wait **out_wait) {
    hrt_wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL) return -ENOMEM;
    wait->kind = kind;
    wait->epoll_fd = wait->timer_fd = wait->wake_fd = -1;
    wait->armed_ns = HRT_NEVER;
    if (kind == HRT_WAIT_TIMERFD && open_descriptors(wait) != 0) return close_on_failure(wait);
    *out_wait = wait;
    return 0;
}

void hrt_wait_destroy(hrt_wait *wait) {
    if (wait->epoll_fd >= 0) close(wait->epoll_fd);
    if (wait->timer_fd >= 0) close(wait->timer_fd);
    if (wait->wake_fd >= 0) close(wait->wake_fd);
    free(wait);
}

static int consume_wake(hrt_wait *wait) {
    return atomic_exchange_explicit(&wait->woken, 0, memory_order_acquire) ? HRT_WAIT_WOKEN : HRT_WAIT_TIMED_OUT;
}

static int wait_on_futex(hrt_wait *wait, int64_t deadline_ns) {
    // FUTEX_WAIT_BITSET takes an absolute timeout on CLOCK_MONOTONIC; FUTEX_WAIT would take a relative one (futex(2)).
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    struct timespec *timeout = deadline_ns == HRT_NEVER ? NULL : &deadline;
    for (;;) {
        if (syscall(SYS_futex, &wait->woken, FUTEX_WAIT_BITSET_PRIVATE, 0, timeout, NULL, FUTEX_BITSET_MATCH_ANY) == 0) {
            // Woken, or for no reason at all, which futex(2) allows.
            if (consume_wake(wait) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
            continue;
        }
        switch (errno) {
            case ETIMEDOUT: return consume_wake(wait);
            case EAGAIN: return consume_wake(wait);  // the word was not 0 any more: a wake came first
            case EINTR: continue;
            default: hrt_impossible("futex", errno);
        }
    }
}

static void arm_timer_fd(hrt_wait *wait, int64_t deadline_ns) {
    // Also when the deadline is the one already set: a timerfd that has expired makes no new edge by itself.
    if (deadline_ns == HRT_NEVER && wait->armed_ns == HRT_NEVER) return;
    struct itimerspec spec = {0};  // all zero disarms
    if (deadline_ns != HRT_NEVER) {
        spec.it_value = hrt_timespec_from_ns(deadline_ns);
        if (deadline_ns <= 0) spec.it_value.tv_nsec = 1;
    }
    if (timerfd_settime(wait->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) != 0) hrt_impossible("timerfd_settime", errno);
    wait->armed_ns = deadline_ns;
}

static int wait_on_timer_fd(hrt_wait *wait, int64_t deadline_ns) {
    arm_timer_fd(wait, deadline_ns);
    struct epoll_event events[2];
    for (;;) {
        if (consume_wake(wait) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
        // The clock decides, not the edge: an edge of a wake already consumed ends epoll_wait too.
        if (deadline_ns != HRT_NEVER && hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) >= deadline_ns) return HRT_WAIT_TIMED_OUT;
        if (epoll_wait(wait->epoll_fd, events, 2, -1) < 0 && errno != EINTR) hrt_impossible("epoll_wait", errno);
    }
}

int hrt_wait_until(hrt_wait *wait, int64_t deadline_ns) {
    return wait->kind == HRT_WAIT_FUTEX ? wait_on_futex(wait, deadline_ns) : wait_on_timer_fd(wait, deadline_ns);
}

void hrt_wait_wake(hrt_wait *wait) {
    if (atomic_exchange_explicit(&wait->woken, 1, memory_order_release) != 0) return;
    if (wait->kind == HRT_WAIT_FUTEX) {
        syscall(SYS_futex, &wait->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    } else {
        // EAGAIN means that the counter is full, which is readable as well.
        uint64_t one = 1;
        if (write(wait->wake_fd, &one, sizeof one) < 0 && errno != EAGAIN) hrt_impossible("write to eventfd", errno);
    }
}

// SPDX-License-Identifier: Apache-2.0
// Calls are made by number where the C library may be older than the kernel.
#include <errno.h>
#include <event2/event.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "cbench_host.h"
#include "cbench_kernel.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

static int close_if_open(long descriptor) {
    if (descriptor < 0) return -errno;
    close((int)descriptor);
    return 0;
}

int cbench_probe_timerfd(void) {
    return close_if_open(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
}

int cbench_probe_epoll_pwait2(void) {
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) return -errno;
    struct epoll_event event;
    struct timespec at_once = {0, 0};
    int status = syscall(SYS_epoll_pwait2, epoll_fd, &event, 1, &at_once, NULL, 0) < 0 ? -errno : 0;
    close(epoll_fd);
    return status;
}

// Calls with arguments that no kernel accepts: EFAULT or EINVAL means that the kernel knows the
// call.
static int is_known(long number, long first, long second) {
    if (syscall(number, first, second, 0, 0, 0) >= 0) return 0;
    return errno == EFAULT || errno == EINVAL ? 0 : -errno;
}

int cbench_probe_io_uring(void) {
    unsigned char parameters[128];  // struct io_uring_params has 120 bytes
    memset(parameters, 0, sizeof parameters);
    return close_if_open(syscall(SYS_io_uring_setup, 1, parameters));
}

int cbench_probe_futex_waitv(void) { return is_known(SYS_futex_waitv, 0, 0); }

int cbench_probe_perf_events(void) {
    struct perf_event_attr wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.disabled = 1;
    wanted.exclude_kernel = 1;
    return close_if_open(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

int cbench_probe_clock(int32_t clock) {
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? 0 : -errno;
}

int64_t cbench_longest_gap_ns(int64_t duration_ns) {
    int64_t start_ns = cbench_now_ns(), before_ns = start_ns, longest_ns = 0;
    while (before_ns - start_ns < duration_ns) {
        int64_t now_ns = cbench_now_ns();
        if (now_ns - before_ns > longest_ns) longest_ns = now_ns - before_ns;
        before_ns = now_ns;
    }
    return longest_ns;
}

const char *cbench_libevent_version(void) { return event_get_version(); }

const char *cbench_libevent_method(void) {
    struct event_base *base = event_base_new();
    if (base == NULL) return NULL;
    // The name has static storage and outlives the base (event.c, eventops).
    const char *method = event_base_get_method(base);
    event_base_free(base);
    return method;
}

const char *cbench_sanitizer(void) {
#if __has_feature(address_sanitizer)
    return "address";
#elif __has_feature(thread_sanitizer)
    return "thread";
#else
    return NULL;
#endif
}

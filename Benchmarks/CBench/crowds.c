// SPDX-License-Identifier: Apache-2.0
// Crowds of timers as a C program would implement them, on the calling thread: one timerfd for each
// timer, or libevent's timers.
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cbench_tally.h"
#include "kernel_wait.h"

struct timer {
    cbench_member *member;
    int file;             // -1 for libevent's timers
    struct event *event;  // NULL for a file
};

struct cbench_crowd {
    int epoll_fd;
    struct event_base *base;
    struct event *end;  // ends the base's loop
    size_t count;
    struct timer timers[];
};

void cbench_crowd_destroy(cbench_crowd *crowd) {
    for (size_t i = 0; i < crowd->count; i++) {
        if (crowd->timers[i].file >= 0) close(crowd->timers[i].file);
        if (crowd->timers[i].event != NULL) event_free(crowd->timers[i].event);
    }
    if (crowd->epoll_fd >= 0) close(crowd->epoll_fd);
    if (crowd->end != NULL) event_free(crowd->end);
    if (crowd->base != NULL) event_base_free(crowd->base);
    free(crowd);
}

// Creates the crowd by `prepare`, and each timer by `add`, which return 0 or an errno.
static cbench_crowd *create(cbench_member *members, size_t count, int (*prepare)(cbench_crowd *),
                            int (*add)(cbench_crowd *, struct timer *)) {
    cbench_crowd *crowd = calloc(1, sizeof *crowd + count * sizeof crowd->timers[0]);
    if (crowd == NULL) return NULL;
    crowd->epoll_fd = -1;
    int error = prepare(crowd);
    while (error == 0 && crowd->count < count) {
        struct timer *timer = &crowd->timers[crowd->count];
        *timer = (struct timer){.member = &members[crowd->count++], .file = -1};
        error = add(crowd, timer);
    }
    if (error == 0) return crowd;
    cbench_crowd_destroy(crowd);
    errno = error;
    return NULL;
}

// Raises the limit of open descriptors to the most that the process may have.
static int open_epoll(cbench_crowd *crowd) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    crowd->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return crowd->epoll_fd < 0 ? errno : 0;
}

static int add_file(cbench_crowd *crowd, struct timer *timer) {
    timer->file = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer->file < 0) return errno;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = timer};
    struct itimerspec spec = {
        .it_value = hrt_timespec_from_ns(timer->member->next_ns),
        .it_interval = hrt_timespec_from_ns(timer->member->interval_ns),
    };
    if (epoll_ctl(crowd->epoll_fd, EPOLL_CTL_ADD, timer->file, &event) != 0) return errno;
    return timerfd_settime(timer->file, TFD_TIMER_ABSTIME, &spec, NULL) == 0 ? 0 : errno;
}

static void run_files(cbench_crowd *crowd, int64_t until_ns) {
    enum { BATCH = 64 };
    struct epoll_event events[BATCH];
    int64_t left_ns;
    while ((left_ns = cbench_left_ns(until_ns)) > 0) {
        int ready = epoll_wait(crowd->epoll_fd, events, BATCH, (int)((left_ns + 999999) / 1000000));
        for (int i = 0; i < ready; i++) {
            struct timer *timer = events[i].data.ptr;
            uint64_t expirations;
            if (read(timer->file, &expirations, sizeof expirations) > 0) {
                cbench_member_fire_for(timer->member, expirations);
            }
        }
    }
}

static void on_timeout(evutil_socket_t descriptor, short what, void *opaque) {
    (void)descriptor;
    (void)what;
    struct timer *timer = opaque;
    struct timeval left = cbench_left_us(cbench_member_fire(timer->member));
    if (timer->member->interval_ns != 0) event_add(timer->event, &left);
}

static void on_end(evutil_socket_t descriptor, short what, void *opaque) {
    (void)descriptor;
    (void)what;
    event_base_loopbreak(opaque);
}

static int open_base(cbench_crowd *crowd) {
    crowd->base = cbench_event_base(EVENT_BASE_FLAG_PRECISE_TIMER);
    if (crowd->base != NULL) crowd->end = event_new(crowd->base, -1, 0, on_end, crowd->base);
    return crowd->end != NULL ? 0 : ENOMEM;
}

static int add_event(cbench_crowd *crowd, struct timer *timer) {
    timer->event = event_new(crowd->base, -1, 0, on_timeout, timer);
    struct timeval left = cbench_left_us(timer->member->next_ns);
    return timer->event != NULL && event_add(timer->event, &left) == 0 ? 0 : ENOMEM;
}

cbench_crowd *cbench_timerfd_crowd(cbench_member *members, size_t count) {
    return create(members, count, open_epoll, add_file);
}

cbench_crowd *cbench_libevent_crowd(cbench_member *members, size_t count) {
    return create(members, count, open_base, add_event);
}

void cbench_crowd_run(cbench_crowd *crowd, int64_t until_ns) {
    if (crowd->base == NULL) return run_files(crowd, until_ns);
    struct timeval left = cbench_left_us(until_ns);
    event_add(crowd->end, &left);
    event_base_dispatch(crowd->base);
}

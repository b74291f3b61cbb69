// Crowds of timers as a C program would implement them, on the calling thread.
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cbench_tally.h"

// The argument of libevent's callback.
struct event_pair {
    struct event *event;
    cbench_member *member;
};

struct cbench_crowd {
    cbench_member *members;
    size_t count;
    void (*run)(struct cbench_crowd *crowd, int64_t until_ns);
    void (*destroy)(struct cbench_crowd *crowd);
    // For timerfd.
    int epoll_fd;
    int *descriptors;
    // For libevent.
    struct event_base *base;
    struct event_pair *events;
    struct event *end;
};

void cbench_crowd_run(cbench_crowd *crowd, int64_t until_ns) { crowd->run(crowd, until_ns); }

void cbench_crowd_destroy(cbench_crowd *crowd) {
    crowd->destroy(crowd);
    free(crowd);
}

static cbench_crowd *crowd_of(cbench_member *members, size_t count) {
    cbench_crowd *crowd = calloc(1, sizeof *crowd);
    if (crowd == NULL) return NULL;
    crowd->members = members;
    crowd->count = count;
    crowd->epoll_fd = -1;
    return crowd;
}

static cbench_crowd *failed(cbench_crowd *crowd, int error) {
    cbench_crowd_destroy(crowd);
    errno = error;
    return NULL;
}

// One timerfd for each timer.

static void destroy_timerfds(cbench_crowd *crowd) {
    for (size_t i = 0; crowd->descriptors != NULL && i < crowd->count; i++) {
        if (crowd->descriptors[i] >= 0) close(crowd->descriptors[i]);
    }
    free(crowd->descriptors);
    if (crowd->epoll_fd >= 0) close(crowd->epoll_fd);
}

static void run_timerfds(cbench_crowd *crowd, int64_t until_ns) {
    enum { BATCH = 64 };
    struct epoll_event events[BATCH];
    int64_t now_ns;
    while ((now_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC)) < until_ns) {
        int64_t left_ms = (until_ns - now_ns + 999999) / 1000000;
        int ready = epoll_wait(crowd->epoll_fd, events, BATCH, (int)left_ms);
        for (int i = 0; i < ready; i++) {
            size_t index = events[i].data.u64;
            uint64_t expirations;
            if (read(crowd->descriptors[index], &expirations, sizeof expirations) > 0) {
                cbench_member_fire_for(&crowd->members[index], expirations);
            }
        }
    }
}

// Raises the limit of open descriptors to the most that the process may have.
static void allow_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int add_timerfd(cbench_crowd *crowd, size_t index) {
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (descriptor < 0) return errno;
    crowd->descriptors[index] = descriptor;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = index};
    struct itimerspec spec = {
        .it_value = hrt_timespec_from_ns(crowd->members[index].next_ns),
        .it_interval = hrt_timespec_from_ns(crowd->members[index].interval_ns),
    };
    if (epoll_ctl(crowd->epoll_fd, EPOLL_CTL_ADD, descriptor, &event) != 0) return errno;
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &spec, NULL) == 0 ? 0 : errno;
}

cbench_crowd *cbench_timerfd_crowd(cbench_member *members, size_t count) {
    cbench_crowd *crowd = crowd_of(members, count);
    if (crowd == NULL) return NULL;
    crowd->run = run_timerfds;
    crowd->destroy = destroy_timerfds;
    allow_descriptors();
    crowd->descriptors = malloc(count * sizeof crowd->descriptors[0]);
    if (crowd->descriptors == NULL) return failed(crowd, ENOMEM);
    for (size_t i = 0; i < count; i++) crowd->descriptors[i] = -1;
    crowd->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (crowd->epoll_fd < 0) return failed(crowd, errno);
    for (size_t i = 0; i < count; i++) {
        int error = add_timerfd(crowd, i);
        if (error != 0) return failed(crowd, error);
    }
    return crowd;
}

// libevent.

static struct timeval until(int64_t deadline_ns) {
    int64_t left_ns = deadline_ns - hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    int64_t left_us = left_ns > 0 ? (left_ns + 999) / 1000 : 0;
    return (struct timeval){left_us / 1000000, left_us % 1000000};
}

static void on_timeout(evutil_socket_t descriptor, short what, void *opaque) {
    (void)descriptor;
    (void)what;
    struct event_pair *pair = opaque;
    struct timeval left = until(cbench_member_fire(pair->member));
    if (pair->member->interval_ns != 0) event_add(pair->event, &left);
}

static void on_end(evutil_socket_t descriptor, short what, void *opaque) {
    (void)descriptor;
    (void)what;
    event_base_loopbreak(opaque);
}

static void destroy_events(cbench_crowd *crowd) {
    for (size_t i = 0; crowd->events != NULL && i < crowd->count; i++) {
        if (crowd->events[i].event != NULL) event_free(crowd->events[i].event);
    }
    free(crowd->events);
    if (crowd->end != NULL) event_free(crowd->end);
    if (crowd->base != NULL) event_base_free(crowd->base);
}

static void run_events(cbench_crowd *crowd, int64_t until_ns) {
    struct timeval left = until(until_ns);
    event_add(crowd->end, &left);
    event_base_dispatch(crowd->base);
}

cbench_crowd *cbench_libevent_crowd(cbench_member *members, size_t count) {
    cbench_crowd *crowd = crowd_of(members, count);
    if (crowd == NULL) return NULL;
    crowd->run = run_events;
    crowd->destroy = destroy_events;
    struct event_config *config = event_config_new();
    if (config != NULL && event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0) {
        crowd->base = event_base_new_with_config(config);
    }
    if (config != NULL) event_config_free(config);
    if (crowd->base == NULL) return failed(crowd, ENOMEM);
    crowd->end = event_new(crowd->base, -1, 0, on_end, crowd->base);
    crowd->events = calloc(count, sizeof crowd->events[0]);
    if (crowd->end == NULL || crowd->events == NULL) return failed(crowd, ENOMEM);
    for (size_t i = 0; i < count; i++) {
        struct event_pair *pair = &crowd->events[i];
        pair->member = &members[i];
        pair->event = event_new(crowd->base, -1, 0, on_timeout, pair);
        struct timeval left = until(members[i].next_ns);
        if (pair->event == NULL || event_add(pair->event, &left) != 0) return failed(crowd, ENOMEM);
    }
    return crowd;
}

#include "../include/hrt_bell.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../clock/hrt_tick.h"
#include "../clock/hrt_timerfd.h"
#include "hrt_probe.h"

struct hrt_bell {
    int epoll_fd;
    int monotonic_fd;
    int boot_fd;
};

// Edge-triggered: each settime makes a new edge, so that none need be read, and an edge is told to
// one thread alone.
static int add_timer(hrt_bell *bell, hrt_clock clock, int *out_fd) {
    *out_fd = timerfd_create((int)clock, TFD_CLOEXEC | TFD_NONBLOCK);
    if (*out_fd < 0) return hrt_status(*out_fd);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    return hrt_status(epoll_ctl(bell->epoll_fd, EPOLL_CTL_ADD, *out_fd, &event));
}

static int open_descriptors(hrt_bell *bell) {
    bell->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int status = hrt_status(bell->epoll_fd);
    if (status == 0) status = add_timer(bell, HRT_CLOCK_MONOTONIC, &bell->monotonic_fd);
    if (status == 0) status = add_timer(bell, HRT_CLOCK_BOOT, &bell->boot_fd);
    return status == 0 ? hrt_probe(bell->epoll_fd, bell->boot_fd) : status;
}

int hrt_bell_create(hrt_bell **out_bell) {
    hrt_bell *bell = malloc(sizeof *bell);
    if (!bell) return -ENOMEM;
    *bell = (hrt_bell){.epoll_fd = -1, .monotonic_fd = -1, .boot_fd = -1};
    int status = open_descriptors(bell);
    if (status == 0) {
        *out_bell = bell;
    } else {
        hrt_bell_destroy(bell);
    }
    return status;
}

void hrt_bell_destroy(hrt_bell *bell) {
    if (bell->epoll_fd >= 0) close(bell->epoll_fd);
    if (bell->monotonic_fd >= 0) close(bell->monotonic_fd);
    if (bell->boot_fd >= 0) close(bell->boot_fd);
    free(bell);
}

void hrt_bell_set(hrt_bell *bell, hrt_clock clock, int64_t instant_ns) {
    int fd = clock == HRT_CLOCK_BOOT ? bell->boot_fd : bell->monotonic_fd;
    hrt_timerfd_arm(fd, hrt_tick_reading(clock, instant_ns));
}

void hrt_bell_wait(hrt_bell *bell) {
    // Room for both, so that one thread takes both edges if they come together. Without a timeout,
    // which may be 0.1 % late by design (__estimate_accuracy in fs/select.c).
    struct epoll_event events[2];
    if (HRT_RETRY(epoll_wait(bell->epoll_fd, events, 2, -1)) < 0)
        hrt_impossible("epoll_wait", errno);
}

#ifdef __linux__
#include "../include/hrt_shared_alarm.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../clock/hrt_probe.h"
#include "../clock/hrt_tick.h"
#include "../clock/hrt_timerfd.h"

struct hrt_shared_alarm {
    int epoll_fd;
    int monotonic_fd;
    int boot_fd;
};

// Edge-triggered: each settime makes a new edge, so that no timerfd need be read, and an edge wakes
// only one thread.
static int add_timer(hrt_shared_alarm *alarm, hrt_clock clock, int *out_fd) {
    *out_fd = (int)HRT_CALL(timerfd_create((int)clock, TFD_CLOEXEC | TFD_NONBLOCK));
    if (*out_fd < 0) return *out_fd;
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    return HRT_STATUS(epoll_ctl(alarm->epoll_fd, EPOLL_CTL_ADD, *out_fd, &event));
}

static int open_descriptors(hrt_shared_alarm *alarm) {
    alarm->epoll_fd = (int)HRT_CALL(epoll_create1(EPOLL_CLOEXEC));
    if (alarm->epoll_fd < 0) return alarm->epoll_fd;
    int status = add_timer(alarm, HRT_CLOCK_MONOTONIC, &alarm->monotonic_fd);
    if (status == 0) status = add_timer(alarm, HRT_CLOCK_BOOT, &alarm->boot_fd);
    return status == 0 ? hrt_probe(alarm->epoll_fd, alarm->boot_fd) : status;
}

int hrt_shared_alarm_create(hrt_shared_alarm **out_alarm) {
    hrt_shared_alarm *alarm = malloc(sizeof *alarm);
    if (!alarm) return -ENOMEM;
    *alarm = (hrt_shared_alarm){.epoll_fd = -1, .monotonic_fd = -1, .boot_fd = -1};
    int status = open_descriptors(alarm);
    if (status == 0) {
        *out_alarm = alarm;
    } else {
        hrt_shared_alarm_destroy(alarm);
    }
    return status;
}

void hrt_shared_alarm_destroy(hrt_shared_alarm *alarm) {
    if (alarm->epoll_fd >= 0) close(alarm->epoll_fd);
    if (alarm->monotonic_fd >= 0) close(alarm->monotonic_fd);
    if (alarm->boot_fd >= 0) close(alarm->boot_fd);
    free(alarm);
}

void hrt_shared_alarm_set(hrt_shared_alarm *alarm, hrt_clock clock, int64_t instant_ns) {
    int fd = clock == HRT_CLOCK_BOOT ? alarm->boot_fd : alarm->monotonic_fd;
    hrt_timerfd_arm(fd, hrt_tick_reading(clock, hrt_clock_tick_ns(clock), instant_ns));
}

void hrt_shared_alarm_wait(hrt_shared_alarm *alarm) {
    // Room for two events, so that one thread takes both edges if they come together. No timeout is
    // used, because it may be 0.1 % late by design (__estimate_accuracy in fs/select.c).
    struct epoll_event events[2];
    hrt_must("epoll_wait", HRT_CALL(epoll_wait(alarm->epoll_fd, events, 2, -1)));
}
#endif

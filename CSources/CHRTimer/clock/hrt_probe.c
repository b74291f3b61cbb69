// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "hrt_probe.h"

#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hrt_timerfd.h"

int hrt_probe(int epoll_fd, int timer_fd) {
    int status = hrt_timerfd_try(timer_fd, HRT_NEVER);
    if (status != 0) return status;
    struct epoll_event event;
    return HRT_STATUS(epoll_wait(epoll_fd, &event, 1, 0));
}

static int probe_with(int epoll_fd, int timer_fd) {
    struct epoll_event event = {.events = EPOLLIN};
    int status = HRT_STATUS(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event));
    if (status == 0) status = hrt_probe(epoll_fd, timer_fd);
    if (status != 0) return status;
    struct pollfd timer = {.fd = timer_fd, .events = POLLIN};
    return HRT_STATUS(poll(&timer, 1, 0));
}

int hrt_probe_timer(int timer_fd) {
    int epoll_fd = (int)HRT_CALL(epoll_create1(EPOLL_CLOEXEC));
    if (epoll_fd < 0) return epoll_fd;
    int status = probe_with(epoll_fd, timer_fd);
    close(epoll_fd);
    return status;
}
#endif

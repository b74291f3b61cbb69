#include "hrt_probe.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

int hrt_probe(int epoll_fd, int timer_fd) {
    struct itimerspec none = {0};
    if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &none, NULL) != 0) return -1;
    struct epoll_event event;
    return epoll_wait(epoll_fd, &event, 1, 0) < 0 && errno != EINTR ? -1 : 0;
}

static int probe_with(int epoll_fd, int timer_fd) {
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event) != 0) return -1;
    if (hrt_probe(epoll_fd, timer_fd) != 0) return -1;
    struct pollfd timer = {.fd = timer_fd, .events = POLLIN};
    return poll(&timer, 1, 0) < 0 && errno != EINTR ? -1 : 0;
}

int hrt_probe_timer(int timer_fd) {
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) return -1;
    int status = probe_with(epoll_fd, timer_fd), error = errno;
    close(epoll_fd);
    errno = error;
    return status;
}

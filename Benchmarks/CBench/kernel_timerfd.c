// SPDX-License-Identifier: Apache-2.0
// Timers that are files (timerfd_create(2)), alone or in an epoll set.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "kernel_wait.h"

struct files {
    int timer;
    int epoll;
};

int cbench_timer_file(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    return timer < 0 ? -errno : timer;
}

static int set(int timer, int64_t deadline_ns, int64_t interval_ns) {
    struct itimerspec spec = {.it_value = hrt_timespec_from_ns(deadline_ns),
                              .it_interval = hrt_timespec_from_ns(interval_ns)};
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL) == 0 ? 0 : -errno;
}

int cbench_timer_file_set(int timer, int64_t deadline_ns) { return set(timer, deadline_ns, 0); }

static inline int64_t wait_in_read(int timer, uint64_t *out_expirations) {
    ssize_t size = read(timer, out_expirations, sizeof *out_expirations);
    return cbench_woke(size < 0 ? errno : 0, 0);
}

static inline int64_t read_expiry(void *context, int64_t deadline_ns) {
    const struct files *files = context;
    int status = set(files->timer, deadline_ns, 0);
    uint64_t expirations;
    return status == 0 ? wait_in_read(files->timer, &expirations) : status;
}

// Edge-triggered: the timer needs no read before the next wait, only to be rearmed.
static inline int64_t epoll_edge(void *context, int64_t deadline_ns) {
    const struct files *files = context;
    int status = set(files->timer, deadline_ns, 0);
    if (status != 0) return status;
    struct epoll_event event;
    int ready = epoll_wait(files->epoll, &event, 1, -1);
    return cbench_woke(ready < 0 ? errno : 0, 0);
}

// Level-triggered, as in most programs: without a read, the next wait would end at once.
static inline int64_t epoll_level(void *context, int64_t deadline_ns) {
    const struct files *files = context;
    int64_t woke_ns = epoll_edge(context, deadline_ns);
    uint64_t expirations;
    if (woke_ns < 0 || read(files->timer, &expirations, sizeof expirations) > 0) return woke_ns;
    return -errno;
}

int cbench_timerfd_read(cbench_block *block) {
    struct files files = {.timer = cbench_timer_file()};
    if (files.timer < 0) return files.timer;
    int status = cbench_fill(block, read_expiry, &files);
    close(files.timer);
    return status;
}

__attribute__((always_inline)) static inline int with_epoll(cbench_block *block, uint32_t events,
                                                            cbench_wait *wait) {
    struct files files = {.timer = cbench_timer_file(), .epoll = -1};
    struct epoll_event event = {.events = events};
    int status = files.timer < 0 ? files.timer : 0;
    if (status == 0) files.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (status == 0 && files.epoll < 0) status = -errno;
    if (status == 0 && epoll_ctl(files.epoll, EPOLL_CTL_ADD, files.timer, &event) != 0) {
        status = -errno;
    }
    if (status == 0) status = cbench_fill(block, wait, &files);
    if (files.epoll >= 0) close(files.epoll);
    if (files.timer >= 0) close(files.timer);
    return status;
}

int cbench_timerfd_epoll(cbench_block *block) { return with_epoll(block, EPOLLIN, epoll_level); }

int cbench_timerfd_epoll_et(cbench_block *block) {
    return with_epoll(block, EPOLLIN | EPOLLET, epoll_edge);
}

// Armed once for all deadlines: the kernel counts the expirations that pass without a read.
int cbench_timerfd_periodic(cbench_block *block) {
    int timer = cbench_timer_file();
    if (timer < 0) return timer;
    int status = set(timer, block->first_deadline_ns, block->interval_ns);
    bool has_more = status == 0;
    while (has_more) {
        uint64_t expirations;
        int64_t woke_ns = wait_in_read(timer, &expirations);
        if (woke_ns == -EINTR) continue;
        if (woke_ns < 0) status = (int)woke_ns;
        has_more = woke_ns >= 0 && cbench_block_fire_for(block, woke_ns, (int64_t)expirations);
    }
    close(timer);
    return status;
}

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cbench_kernel.h"
#include "cbench_waits.h"

static int arm(int timer_fd, int64_t deadline_ns) {
    struct itimerspec spec = {.it_value = hrt_timespec_from_ns(deadline_ns)};
    return timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) == 0 ? 0 : -errno;
}

// Blocks until the timer has expired. The time stamp is taken when the blocking call returns.
typedef int wait_for_expiry(int timer_fd, int epoll_fd, int64_t *out_woke_ns);

static int read_expiry(int timer_fd, int epoll_fd, int64_t *out_woke_ns) {
    (void)epoll_fd;
    uint64_t expirations;
    ssize_t size;
    do {
        size = read(timer_fd, &expirations, sizeof expirations);
        *out_woke_ns = cbench_now_ns();
    } while (size < 0 && errno == EINTR);
    return size < 0 ? -errno : 0;
}

static int epoll_expiry(int timer_fd, int epoll_fd, int64_t *out_woke_ns) {
    struct epoll_event event;
    int ready;
    do {
        ready = epoll_wait(epoll_fd, &event, 1, -1);
        *out_woke_ns = cbench_now_ns();
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) return -errno;
    // Level-triggered, as in most programs: without a read, the next wait would end at once.
    int64_t read_ns;
    return read_expiry(timer_fd, epoll_fd, &read_ns);
}

static int fill(cbench_block *block, int timer_fd, int epoll_fd, wait_for_expiry *wait) {
    int64_t woke_ns;
    do {
        int status = arm(timer_fd, block->next_deadline_ns);
        if (status == 0) status = wait(timer_fd, epoll_fd, &woke_ns);
        if (status != 0) return status;
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}

int cbench_timerfd_read(cbench_block *block) {
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer_fd < 0) return -errno;
    int status = fill(block, timer_fd, -1, read_expiry);
    close(timer_fd);
    return status;
}

// Edge-triggered: the timer needs no read before the next wait, only to be rearmed.
static int epoll_edge(int timer_fd, int epoll_fd, int64_t *out_woke_ns) {
    (void)timer_fd;
    struct epoll_event event;
    int ready;
    do {
        ready = epoll_wait(epoll_fd, &event, 1, -1);
        *out_woke_ns = cbench_now_ns();
    } while (ready < 0 && errno == EINTR);
    return ready < 0 ? -errno : 0;
}

static int with_epoll(cbench_block *block, uint32_t events, wait_for_expiry *wait) {
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer_fd < 0) return -errno;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int status = epoll_fd < 0 ? -errno : 0;
    struct epoll_event event = {.events = events};
    if (status == 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event) != 0) status = -errno;
    if (status == 0) status = fill(block, timer_fd, epoll_fd, wait);
    if (epoll_fd >= 0) close(epoll_fd);
    close(timer_fd);
    return status;
}

int cbench_timerfd_epoll(cbench_block *block) { return with_epoll(block, EPOLLIN, epoll_expiry); }

int cbench_timerfd_epoll_et(cbench_block *block) {
    return with_epoll(block, EPOLLIN | EPOLLET, epoll_edge);
}

// Armed once for all deadlines: the kernel counts the expirations that pass without a read.
static int fill_periodically(cbench_block *block, int timer_fd) {
    struct itimerspec spec = {
        .it_value = hrt_timespec_from_ns(block->first_deadline_ns),
        .it_interval = hrt_timespec_from_ns(block->interval_ns),
    };
    if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) != 0) return -errno;
    int64_t woke_ns;
    uint64_t expirations;
    do {
        ssize_t size;
        do {
            size = read(timer_fd, &expirations, sizeof expirations);
            woke_ns = cbench_now_ns();
        } while (size < 0 && errno == EINTR);
        if (size < 0) return -errno;
    } while (cbench_block_fire_for(block, woke_ns, (int64_t)expirations));
    return 0;
}

int cbench_timerfd_periodic(cbench_block *block) {
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer_fd < 0) return -errno;
    int status = fill_periodically(block, timer_fd);
    close(timer_fd);
    return status;
}

int cbench_timer_file(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    return timer < 0 ? -errno : timer;
}

int cbench_timer_file_set(int timer, int64_t deadline_ns) { return arm(timer, deadline_ns); }

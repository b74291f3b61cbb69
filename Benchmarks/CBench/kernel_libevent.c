// libevent's own timers, one-shot, added again after each fire. They are relative and in us. They
// are added outside of the loop, where libevent reads its clock for each. Within callbacks it would
// count from the earlier time at which the pass began (event_base_gettimeofday_cached in
// event2/event.h).
#include <errno.h>
#include <event2/event.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cbench_kernel.h"

struct waiter {
    struct event_base *base;
    struct event *event;
    int timer_fd;  // -1 for libevent's timers
    bool has_fired;
    int64_t woke_ns;
};

static void on_event(evutil_socket_t descriptor, short what, void *opaque) {
    int64_t woke_ns = cbench_now_ns();
    (void)what;
    struct waiter *waiter = opaque;
    if (descriptor >= 0) {
        uint64_t expirations;
        // EAGAIN: the timer was rearmed in the meantime.
        if (read(descriptor, &expirations, sizeof expirations) < 0) return;
    }
    waiter->woke_ns = woke_ns;
    waiter->has_fired = true;
}

static int arm(struct waiter *waiter, int64_t deadline_ns) {
    if (waiter->timer_fd >= 0) {
        struct itimerspec spec = {.it_value = hrt_timespec_from_ns(deadline_ns)};
        return timerfd_settime(waiter->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) == 0 ? 0 : -errno;
    }
    int64_t remaining_ns = deadline_ns - cbench_now_ns();
    // Rounded up: if the timer then fires early, libevent itself is the cause.
    int64_t remaining_us = remaining_ns > 0 ? (remaining_ns + 999) / 1000 : 0;
    struct timeval after = {.tv_sec = remaining_us / 1000000, .tv_usec = remaining_us % 1000000};
    return event_add(waiter->event, &after) == 0 ? 0 : -ENOMEM;
}

static int fill(cbench_block *block, struct waiter *waiter) {
    do {
        int status = arm(waiter, block->next_deadline_ns);
        if (status != 0) return status;
        waiter->has_fired = false;
        // A pass may end without a fire if a signal interrupts its wait.
        while (!waiter->has_fired) {
            if (event_base_loop(waiter->base, EVLOOP_ONCE) < 0) return -EIO;
        }
    } while (cbench_block_fire(block, waiter->woke_ns));
    return 0;
}

static struct event_base *base_with(int flags) {
    struct event_config *config = event_config_new();
    if (config == NULL) return NULL;
    struct event_base *base =
        event_config_set_flag(config, flags) == 0 ? event_base_new_with_config(config) : NULL;
    event_config_free(config);
    return base;
}

static int run(cbench_block *block, int flags, int timer_fd) {
    struct waiter waiter = {.base = base_with(flags), .timer_fd = timer_fd};
    if (waiter.base == NULL) return -ENOMEM;
    short what = timer_fd >= 0 ? EV_READ | EV_PERSIST : 0;
    waiter.event = event_new(waiter.base, timer_fd, what, on_event, &waiter);
    int status = waiter.event == NULL ? -ENOMEM : 0;
    if (status == 0 && timer_fd >= 0 && event_add(waiter.event, NULL) != 0) status = -ENOMEM;
    if (status == 0) status = fill(block, &waiter);
    if (waiter.event != NULL) event_free(waiter.event);
    event_base_free(waiter.base);
    return status;
}

int cbench_libevent_default(cbench_block *block) {
    return run(block, 0, -1);
}

int cbench_libevent_precise(cbench_block *block) {
    return run(block, EVENT_BASE_FLAG_PRECISE_TIMER, -1);
}

int cbench_libevent_timerfd(cbench_block *block) {
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer_fd < 0) return -errno;
    int status = run(block, 0, timer_fd);
    close(timer_fd);
    return status;
}

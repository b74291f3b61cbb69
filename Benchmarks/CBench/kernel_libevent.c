// SPDX-License-Identifier: Apache-2.0
// libevent's own timers, one-shot, added again after each fire. They are relative and in us. They
// are added outside of the loop, where libevent reads its clock for each. Within callbacks it would
// count from the earlier time at which the pass began (event_base_gettimeofday_cached in
// event2/event.h).
#include <errno.h>
#include <event2/event.h>
#include <unistd.h>

#include "kernel_wait.h"

struct waiter {
    struct event_base *base;
    struct event *event;
    int timer_fd;     // -1 for libevent's timers
    int64_t woke_ns;  // 0 until it has fired
};

static void on_event(evutil_socket_t descriptor, short what, void *opaque) {
    int64_t woke_ns = cbench_now_ns();
    (void)what;
    struct waiter *waiter = opaque;
    if (descriptor >= 0) {
        uint64_t expirations;
        if (read(descriptor, &expirations, sizeof expirations) < 0) return;
    }
    waiter->woke_ns = woke_ns;
}

static int arm(struct waiter *waiter, int64_t deadline_ns) {
    if (waiter->timer_fd >= 0) return cbench_timer_file_set(waiter->timer_fd, deadline_ns);
    struct timeval after = cbench_left_us(deadline_ns);
    return event_add(waiter->event, &after) == 0 ? 0 : -ENOMEM;
}

static inline int64_t wait_for_event(void *context, int64_t deadline_ns) {
    struct waiter *waiter = context;
    int status = arm(waiter, deadline_ns);
    if (status != 0) return status;
    waiter->woke_ns = 0;
    // A pass may end without a fire if a signal interrupts its wait.
    while (waiter->woke_ns == 0) {
        if (event_base_loop(waiter->base, EVLOOP_ONCE) < 0) return -EIO;
    }
    return waiter->woke_ns;
}

struct event_base *cbench_event_base(int flags) {
    struct event_config *config = event_config_new();
    if (config == NULL) return NULL;
    struct event_base *base =
        event_config_set_flag(config, flags) == 0 ? event_base_new_with_config(config) : NULL;
    event_config_free(config);
    return base;
}

static int run(cbench_block *block, int flags, int timer_fd) {
    struct waiter waiter = {.base = cbench_event_base(flags), .timer_fd = timer_fd};
    if (waiter.base == NULL) return -ENOMEM;
    short what = timer_fd >= 0 ? EV_READ | EV_PERSIST : 0;
    waiter.event = event_new(waiter.base, timer_fd, what, on_event, &waiter);
    int status = waiter.event == NULL ? -ENOMEM : 0;
    if (status == 0 && timer_fd >= 0 && event_add(waiter.event, NULL) != 0) status = -ENOMEM;
    if (status == 0) status = cbench_fill(block, wait_for_event, &waiter);
    if (waiter.event != NULL) event_free(waiter.event);
    event_base_free(waiter.base);
    return status;
}

int cbench_libevent_default(cbench_block *block) { return run(block, 0, -1); }

int cbench_libevent_precise(cbench_block *block) {
    return run(block, EVENT_BASE_FLAG_PRECISE_TIMER, -1);
}

int cbench_libevent_timerfd(cbench_block *block) {
    int timer_fd = cbench_timer_file();
    if (timer_fd < 0) return timer_fd;
    int status = run(block, 0, timer_fd);
    close(timer_fd);
    return status;
}

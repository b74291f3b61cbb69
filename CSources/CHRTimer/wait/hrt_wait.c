// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_wait.h"

#include <errno.h>
#include <stdlib.h>

#include "../clock/hrt_futex.h"
#include "../clock/hrt_tick.h"
#include "hrt_wait_parts.h"

static int open_kind(hrt_wait *wait) {
    switch (wait->kind) {
    case HRT_WAIT_FUTEX:
        return wait->clock == HRT_CLOCK_BOOT ? -ENOTSUP : hrt_futex_probe(wait->clock);
    case HRT_WAIT_TIMERFD: return hrt_wait_timerfd_open(wait);
    }
    return -EINVAL;
}

int hrt_wait_create(hrt_wait_kind kind, hrt_clock clock, hrt_wait **out_wait) {
    hrt_wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL) return -ENOMEM;
    wait->kind = kind;
    wait->clock = clock;
    wait->tick_ns = hrt_clock_tick_ns(clock);
    int status = open_kind(wait);
    if (status != 0) {
        free(wait);
        return status;
    }
    *out_wait = wait;
    return 0;
}

void hrt_wait_destroy(hrt_wait *wait) {
    if (wait->kind == HRT_WAIT_TIMERFD) hrt_wait_timerfd_close(wait);
    free(wait);
}

static int until(hrt_wait *wait, int64_t deadline_ns) {
    switch (wait->kind) {
    case HRT_WAIT_FUTEX: return hrt_wait_futex_until(wait, deadline_ns);
    case HRT_WAIT_TIMERFD: return hrt_wait_timerfd_until(wait, deadline_ns);
    }
    __builtin_unreachable();
}

int hrt_wait_until(hrt_wait *wait, int64_t deadline_ns) {
    for (;;) {
        int64_t reading_ns = hrt_tick_reading(wait->clock, wait->tick_ns, deadline_ns);
        int outcome = until(wait, reading_ns);
        if (outcome == HRT_WAIT_WOKEN || wait->tick_ns == 0) return outcome;
        // Ticks may be uneven, so the clock may still be before the deadline.
        if (hrt_clock_now_ns(wait->clock) >= deadline_ns) return outcome;
    }
}

int hrt_wait_wake_system(hrt_wait *wait) {
    return wait->kind == HRT_WAIT_TIMERFD ? hrt_wait_timerfd_wake_system(wait) : -EINVAL;
}

bool hrt_wait_wake_at(hrt_wait *wait, int64_t deadline_ns) {
    if (wait->kind != HRT_WAIT_TIMERFD) return false;
    int64_t reading_ns = hrt_tick_reading(wait->clock, wait->tick_ns, deadline_ns);
    return hrt_wait_timerfd_wake_at(wait, reading_ns);
}

void hrt_wait_wake(hrt_wait *wait) {
    if (atomic_exchange(&wait->woken, 1) != 0) return;
    switch (wait->kind) {
    case HRT_WAIT_FUTEX: hrt_wait_futex_wake(wait); break;
    case HRT_WAIT_TIMERFD: hrt_wait_timerfd_wake(wait); break;
    }
}
#endif

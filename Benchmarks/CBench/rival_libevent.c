// SPDX-License-Identifier: Apache-2.0
// libevent's timers, through its API: a binary heap of pointers to events. libevent reads its own
// clock, so that deadlines are relative to the workload's zero. The workloads that expire timers
// use deadlines in the past, which fire in one pass of the loop.
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "hrt_clock.h"
#include "ops_rival.h"

struct rival;

struct timer {
    struct event event;
    struct rival *rival;
    int64_t deadline_ns;
};

struct rival {
    struct event_base *base;
    struct timer *timers;
    struct cbench_fired *fired;
    size_t count;
    int64_t zero_ns;
};

static void on_timer(evutil_socket_t descriptor, short what, void *opaque) {
    (void)descriptor;
    (void)what;
    struct timer *timer = opaque;
    cbench_count_fired(timer->rival->fired, timer->deadline_ns);
}

static void destroy(void *opaque) {
    struct rival *rival = opaque;
    for (size_t i = 0; i < rival->count; i++) event_del(&rival->timers[i].event);
    event_base_free(rival->base);
    cbench_unmap(rival->timers, rival->count * sizeof *rival->timers);
    free(rival);
}

// libevent's heap, an array of pointers, stays where malloc places it. event_set_mem_functions
// could place it in huge pages, but applies to the whole process: our functions would free memory
// that others got from malloc before.
static void *create(size_t timers) {
    struct rival *rival = calloc(1, sizeof *rival);
    if (rival == NULL) return NULL;
    rival->base = event_base_new();
    rival->timers = cbench_map(timers * sizeof *rival->timers);
    rival->count = timers;
    rival->zero_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    if (rival->base == NULL || rival->timers == NULL) return NULL;
    for (size_t i = 0; i < timers; i++) {
        rival->timers[i].rival = rival;
        event_assign(&rival->timers[i].event, rival->base, -1, 0, on_timer, &rival->timers[i]);
    }
    return rival;
}

static void move(void *opaque, size_t number, int64_t deadline_ns) {
    struct timer *timer = &((struct rival *)opaque)->timers[number];
    timer->deadline_ns = deadline_ns;
    int64_t seconds = deadline_ns / 1000000000 - (deadline_ns % 1000000000 < 0);
    struct timeval after = {.tv_sec = seconds,
                            .tv_usec = (deadline_ns - seconds * 1000000000) / 1000};
    event_add(&timer->event, &after);
}

static void replace(void *opaque, size_t number, int64_t deadline_ns) {
    event_del(&((struct rival *)opaque)->timers[number].event);
    move(opaque, number, deadline_ns);
}

// Subtracts the time since the start: arming millions takes seconds, in which the zero of relative
// deadlines would move.
static void add(void *opaque, size_t number, int64_t deadline_ns) {
    struct rival *rival = opaque;
    move(rival, number, deadline_ns - (hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) - rival->zero_ns));
    rival->timers[number].deadline_ns = deadline_ns;
}

static bool take_due(void *opaque, int64_t now_ns, struct cbench_fired *fired) {
    (void)now_ns;
    struct rival *rival = opaque;
    rival->fired = fired;
    event_base_loop(rival->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    return false;
}

const struct cbench_queue_ops cbench_rival_libevent = {
    .id = "libevent.timer",
    .create = create,
    .destroy = destroy,
    .add = add,
    .replace = replace,
    .move = move,
    .take_due = take_due,
    .takes_all_at_once = true,
};

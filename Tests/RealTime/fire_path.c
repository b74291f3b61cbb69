// SPDX-License-Identifier: Apache-2.0
// The fire path under RealtimeSanitizer, which ends the process at the first call that may
// allocate, lock or block inside a function marked HRT_NONBLOCKING: ten minutes of 20,000 timers
// that are armed, moved, disarmed, taken and counted.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "hrt_clock.h"
#include "hrt_histogram.h"
#include "hrt_spin_window.h"
#include "hrt_queue.h"

enum { TIMERS = 20000, BATCH = 64 };

struct path {
    hrt_queue *queue;
    hrt_histogram *histogram;
    hrt_spin_window window;
    hrt_spin_budget budget;
    hrt_token tokens[TIMERS];
    uint64_t random;
    uint64_t fired;
    bool is_wrong;
};

static uint64_t next_random(struct path *path) {
    path->random ^= path->random << 13;
    path->random ^= path->random >> 7;
    path->random ^= path->random << 17;
    return path->random;
}

static const hrt_arm_options ordinary = {0};

// Does what one wake-up of an engine does. Not marked itself: hrt_queue_arm may allocate the first
// time that it sees a kind of timer. What it calls for the arming is marked.
static void turn(struct path *path, int64_t now_ns) {
    hrt_due batch[BATCH];
    int64_t sleep_ns = 1000000;
    hrt_spin_window_record_wake(&path->window, sleep_ns, (int64_t)(next_random(path) % 100000));
    do {
        size_t count = hrt_queue_take_due(path->queue, now_ns, batch, BATCH);
        for (size_t index = 0; index < count; index++) {
            hrt_histogram_record(path->histogram, now_ns - batch[index].deadline_ns);
            // Some repeat soon, others late.
            int64_t interval_ns =
                (int64_t)(next_random(path) % (index % 8 == 0 ? 100000000000 : 1000000000));
            hrt_queue_arm(path->queue, batch[index].token.slot,
                          batch[index].deadline_ns + interval_ns, ordinary);
            path->fired++;
        }
    } while (hrt_queue_next_ns(path->queue) <= now_ns);
    while (hrt_queue_normalize(path->queue)) continue;
    path->is_wrong |= hrt_queue_next_wake_ns(path->queue) <= now_ns ||
                      hrt_queue_next_precise_ns(path->queue) <= now_ns ||
                      hrt_queue_next_ns(path->queue) > hrt_queue_next_wake_ns(path->queue);
    for (int change = 0; change < 8; change++) {
        hrt_token token = path->tokens[next_random(path) % TIMERS];
        if (!hrt_queue_is_live(path->queue, token)) continue;
        if (change % 2 == 0) hrt_queue_disarm(path->queue, token.slot);
        hrt_queue_arm(path->queue, token.slot, now_ns + (int64_t)(next_random(path) % 10000000000),
                      ordinary);
    }
    int64_t window_ns = hrt_spin_window_ns(&path->window, sleep_ns, now_ns);
    hrt_spin_budget_spend(&path->budget, window_ns / 2);
}

static void take_apart(struct path *path) HRT_NONBLOCKING;
static void take_apart(struct path *path) HRT_NONBLOCKING {
    for (int index = 0; index < TIMERS; index++) hrt_queue_remove(path->queue, path->tokens[index]);
}

int main(void) {
    static struct path path = {.random = 88172645463325252u};
    int64_t now_ns = 1000000000;
    if (hrt_queue_create(0, &path.queue) != 0 ||
        hrt_histogram_create(2, 100000000000, &path.histogram) != 0)
        abort();
    hrt_spin_budget_init(&path.budget, 0.5, now_ns);
    hrt_spin_window_init(&path.window, 0.9, &path.budget);
    for (int index = 0; index < TIMERS; index++) {
        if (hrt_queue_add(path.queue, &path.tokens[index]) != 0) abort();
        int64_t deadline_ns = now_ns + (int64_t)(next_random(&path) % 10000000000);
        // Tolerant and precise timers stay so until they first fire; their wheels stay for good.
        hrt_arm_options options = {.tolerance_ns = index % 3 == 1 ? 10000000 : 0,
                                   .is_precise = index % 3 == 2};
        hrt_queue_arm(path.queue, path.tokens[index].slot, deadline_ns, options);
    }
    for (int64_t step_ns = 0; step_ns < 600 * HRT_NS_PER_S; step_ns += 10000000)
        turn(&path, now_ns + step_ns);
    take_apart(&path);
    printf("%" PRIu64 " fires, none of which allocated, locked or blocked\n", path.fired);
    bool is_complete = !path.is_wrong && path.fired == hrt_histogram_count(path.histogram) &&
                       hrt_queue_count(path.queue) == 0 && path.fired > 1000000 &&
                       hrt_histogram_early_count(path.histogram) == 0;
    hrt_histogram_destroy(path.histogram);
    hrt_queue_destroy(path.queue);
    return is_complete ? 0 : 1;
}

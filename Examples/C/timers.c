// SPDX-License-Identifier: Apache-2.0
// Timers from C alone: a queue keeps them, and one thread waits for the earliest and takes what is
// due. A tick repeats; a message comes once, and disarms a timeout that would have come later.
// `make c-example` builds and runs it.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hrt_clock.h"
#include "hrt_queue.h"
#include "hrt_wait.h"

enum { MS = 1000000 };

// What this program keeps of a timer. The queue has room for it beside each one.
typedef struct {
    const char *name;
    int64_t interval_ns;  // 0 for a timer that comes once
    int calls_left;
} record;

// Adds a timer and arms it. Its slot names it from now on.
static uint32_t add(hrt_queue *queue, record timer, int64_t deadline_ns) {
    hrt_token token;
    if (hrt_queue_add(queue, &token) != 0) return UINT32_MAX;
    *(record *)hrt_queue_record(queue, token.slot) = timer;
    hrt_queue_arm(queue, token.slot, deadline_ns, (hrt_arm_options){.is_precise = true});
    return token.slot;
}

// Sleeps until shortly before the deadline, then reads the clock until it is there. Returns the last
// reading.
static int64_t wait_for(hrt_wait *wait, hrt_spin_window *window, int64_t deadline_ns) {
    int64_t now_ns, spun_ns;
    hrt_wait_until_spin_window(wait, deadline_ns, window);
    hrt_wait_spin_until(wait, deadline_ns, window, &now_ns, &spun_ns);
    return now_ns;
}

int main(void) {
    const int64_t start_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    hrt_queue *queue;
    hrt_wait *wait;
    if (hrt_queue_create(sizeof(record), &queue) != 0) return 1;
    if (hrt_wait_create(HRT_WAIT_FUTEX, HRT_CLOCK_MONOTONIC, &wait) != 0) return 1;
    // How long before a deadline the thread wakes is learned from its wakes, so that it meets 99 of
    // 100 deadlines, within a twentieth of a processor. The first wake has nothing to learn from.
    hrt_spin_budget budget;
    hrt_spin_window window;
    hrt_spin_budget_init(&budget, 0.05, start_ns);
    hrt_spin_window_init(&window, 0.99, &budget);

    // The queue learns the time from its caller, before timers are armed.
    hrt_due due;
    hrt_queue_take_due(queue, start_ns, &due, 0);
    uint32_t message = add(queue, (record){.name = "message"}, start_ns + 20 * MS);
    uint32_t timeout = add(queue, (record){.name = "timeout"}, start_ns + 25 * MS);
    add(queue, (record){.name = "tick", .interval_ns = 10 * MS, .calls_left = 3},
        start_ns + 10 * MS);

    // At 20 ms the message is first: of two timers with one deadline, that which was armed first.
    const char *expected[] = {"tick", "message", "tick", "tick"};
    const size_t expected_count = sizeof(expected) / sizeof(expected[0]);
    size_t called = 0;
    int mistakes = 0;
    int64_t now_ns = start_ns;
    for (;;) {
        // Normalizing makes the earliest deadline exact, so that no wake is in vain.
        while (hrt_queue_normalize(queue)) continue;
        int64_t deadline_ns = hrt_queue_next_ns(queue);
        if (deadline_ns == HRT_NEVER) break;
        if (deadline_ns > now_ns) now_ns = wait_for(wait, &window, deadline_ns);
        // One at a time, so that each may disarm others, even if those are due by now.
        if (hrt_queue_take_due(queue, now_ns, &due, 1) == 0) continue;
        uint32_t slot = due.token.slot;
        record *timer = hrt_queue_record(queue, slot);
        printf("%-8s due at %2" PRId64 " ms, %5" PRId64 " ns late\n", timer->name,
               (due.deadline_ns - start_ns) / MS, now_ns - due.deadline_ns);
        if (now_ns < due.deadline_ns) mistakes++;
        if (called == expected_count || strcmp(timer->name, expected[called++]) != 0) mistakes++;

        if (slot == message) hrt_queue_disarm(queue, timeout);
        // The next deadline counts from the last one, not from now: lateness does not add up.
        if (--timer->calls_left > 0)
            hrt_queue_arm(queue, slot, due.deadline_ns + timer->interval_ns,
                          (hrt_arm_options){.is_precise = true});
    }
    hrt_wait_destroy(wait);
    hrt_queue_destroy(queue);
    if (called != expected_count) mistakes++;
    if (mistakes > 0) fprintf(stderr, "early, or out of order: %d times\n", mistakes);
    return mistakes > 0;
}

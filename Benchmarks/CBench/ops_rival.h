// SPDX-License-Identifier: Apache-2.0
#ifndef OPS_RIVAL_H
#define OPS_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Counts the due timers that a rival reports, and checks their order.
struct cbench_fired {
    int64_t now_ns;
    int64_t previous_ns;
    uint64_t count;
    uint64_t early;
    uint64_t inversions;
};

static inline void cbench_count_fired(struct cbench_fired *fired, int64_t deadline_ns) {
    fired->count++;
    fired->early += deadline_ns > fired->now_ns;
    fired->inversions += deadline_ns < fired->previous_ns;
    fired->previous_ns = deadline_ns;
}

// A timer queue as the workloads use it. Timers are numbers below the `timers` of create. `replace`
// cancels the timer and arms a new one under its number; `move` arms the same timer for another
// deadline. Both find a timer that was added before; it may have fired since.
struct cbench_queue_ops {
    const char *id;
    void *(*create)(size_t timers);
    void (*destroy)(void *queue);
    void (*add)(void *queue, size_t timer, int64_t deadline_ns);
    void (*replace)(void *queue, size_t timer, int64_t deadline_ns);
    void (*move)(void *queue, size_t timer, int64_t deadline_ns);
    int64_t (*next_ns)(void *queue);
    // Fires the due timers, or a part of them; returns false once no more are due. NULL if the
    // rival has no time.
    bool (*take_due)(void *queue, int64_t now_ns, struct cbench_fired *fired);
    size_t (*memory_bytes)(void *queue);
    // Frees the timer's number to be added again. NULL if no workload uses it.
    void (*cancel)(void *queue, size_t timer);
    // Whether the rival reads its own clock; all timers armed in the past fire in one call.
    bool takes_all_at_once;
};

extern const struct cbench_queue_ops cbench_rival_hrt_queue, cbench_rival_hrt_queue_owner,
    cbench_rival_hrt_queue_tolerant, cbench_rival_binary_heap, cbench_rival_quaternary_heap,
    cbench_rival_quaternary_heap_owner, cbench_rival_libevent, cbench_rival_null,
    cbench_rival_touch, cbench_rival_touch_token;

// Allocates zeroed memory in huge pages, for every rival alike.
void *cbench_map(size_t bytes);
void cbench_unmap(void *start, size_t bytes);

#endif

// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "hrt_queue.h"
#include "ops_rival.h"

enum { BATCH = 256, TOLERANCE_NS = 10000000 };

struct rival {
    hrt_queue *queue;
    hrt_token *tokens;
    size_t timers;
    hrt_arm_options options;
};

static void *create_with(size_t timers, int64_t tolerance_ns) {
    struct rival *rival = malloc(sizeof *rival);
    if (rival == NULL) return NULL;
    rival->options = (hrt_arm_options){.tolerance_ns = tolerance_ns};
    rival->tokens = cbench_map(timers * sizeof *rival->tokens);
    rival->timers = timers;
    if (rival->tokens == NULL || hrt_queue_create(0, &rival->queue) != 0) return NULL;
    hrt_queue_take_due(rival->queue, 0, NULL, 0);
    return rival;
}

static void *create(size_t timers) { return create_with(timers, 0); }
static void *create_tolerant(size_t timers) { return create_with(timers, TOLERANCE_NS); }

static void destroy(void *opaque) {
    struct rival *rival = opaque;
    hrt_queue_destroy(rival->queue);
    cbench_unmap(rival->tokens, rival->timers * sizeof *rival->tokens);
    free(rival);
}

static void add(void *opaque, size_t timer, int64_t deadline_ns) {
    struct rival *rival = opaque;
    hrt_token *token = &rival->tokens[timer];
    if (hrt_queue_add(rival->queue, token) == 0)
        hrt_queue_arm(rival->queue, token->slot, deadline_ns, rival->options);
}

static void replace(void *opaque, size_t timer, int64_t deadline_ns) {
    struct rival *rival = opaque;
    hrt_queue_remove(rival->queue, rival->tokens[timer]);
    add(rival, timer, deadline_ns);
}

// The token may be stale, as in a schedule, whose user owns the token.
static void move(void *opaque, size_t timer, int64_t deadline_ns) {
    struct rival *rival = opaque;
    hrt_token token = rival->tokens[timer];
    if (hrt_queue_is_live(rival->queue, token))
        hrt_queue_arm(rival->queue, token.slot, deadline_ns, rival->options);
}

// Timers that were added in order and never removed have slots equal to their numbers.
static void owner_replace(void *opaque, size_t timer, int64_t deadline_ns) {
    struct rival *rival = opaque;
    hrt_queue_disarm(rival->queue, (uint32_t)timer);
    hrt_queue_arm(rival->queue, (uint32_t)timer, deadline_ns, rival->options);
}

static void owner_move(void *opaque, size_t timer, int64_t deadline_ns) {
    struct rival *rival = opaque;
    hrt_queue_arm(rival->queue, (uint32_t)timer, deadline_ns, rival->options);
}

static int64_t next_ns(void *opaque) { return hrt_queue_next_ns(((struct rival *)opaque)->queue); }

static bool take_due(void *opaque, int64_t now_ns, struct cbench_fired *fired) {
    struct rival *rival = opaque;
    hrt_due due[BATCH];
    size_t taken = hrt_queue_take_due(rival->queue, now_ns, due, BATCH);
    for (size_t i = 0; i < taken; i++) cbench_count_fired(fired, due[i].deadline_ns);
    return hrt_queue_next_ns(rival->queue) <= now_ns;
}

static size_t memory_bytes(void *opaque) {
    return hrt_queue_memory_bytes(((struct rival *)opaque)->queue);
}

const struct cbench_queue_ops cbench_rival_hrt_queue = {
    .id = "hrtimer.queue",
    .create = create,
    .destroy = destroy,
    .add = add,
    .replace = replace,
    .move = move,
    .next_ns = next_ns,
    .take_due = take_due,
    .memory_bytes = memory_bytes,
};

const struct cbench_queue_ops cbench_rival_hrt_queue_owner = {
    .id = "hrtimer.queue-owner",
    .create = create,
    .destroy = destroy,
    .add = add,
    .replace = owner_replace,
    .move = owner_move,
    .next_ns = next_ns,
    .take_due = take_due,
    .memory_bytes = memory_bytes,
};

const struct cbench_queue_ops cbench_rival_hrt_queue_tolerant = {
    .id = "hrtimer.queue-tolerant",
    .create = create_tolerant,
    .destroy = destroy,
    .add = add,
    .replace = replace,
    .move = move,
    .next_ns = next_ns,
    .take_due = take_due,
    .memory_bytes = memory_bytes,
};

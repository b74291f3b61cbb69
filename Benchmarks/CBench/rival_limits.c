// SPDX-License-Identifier: Apache-2.0
// Lower limits of a queue's cost: nothing at all; one access to a random cache line in as much
// memory as our queue uses; and such an access where a token in a separate array must be read first
// to find the line.
#include <stdlib.h>

#include "hrt_queue.h"
#include "ops_rival.h"

struct node {
    int64_t deadline_ns;
    uint32_t generation;
    char rest[20];
};
_Static_assert(sizeof(struct node) == 32, "as large as a node of our queue");

struct rival {
    struct node *nodes;
    hrt_token *tokens;
    size_t timers;
};

static void *create(size_t timers) {
    struct rival *rival = malloc(sizeof *rival);
    if (rival == NULL) return NULL;
    rival->timers = timers;
    rival->nodes = cbench_map(timers * sizeof *rival->nodes);
    rival->tokens = cbench_map(timers * sizeof *rival->tokens);
    return rival->nodes == NULL || rival->tokens == NULL ? NULL : rival;
}

static void destroy(void *opaque) {
    struct rival *rival = opaque;
    cbench_unmap(rival->nodes, rival->timers * sizeof *rival->nodes);
    cbench_unmap(rival->tokens, rival->timers * sizeof *rival->tokens);
    free(rival);
}

static void nothing(void *opaque, size_t timer, int64_t deadline_ns) {
    (void)opaque;
    (void)timer;
    (void)deadline_ns;
}

static void touch(void *opaque, size_t timer, int64_t deadline_ns) {
    ((struct rival *)opaque)->nodes[timer].deadline_ns += deadline_ns;
}

static void add_token(void *opaque, size_t timer, int64_t deadline_ns) {
    struct rival *rival = opaque;
    rival->tokens[timer] = (hrt_token){.slot = (uint32_t)timer, .generation = 1};
    rival->nodes[timer] = (struct node){.deadline_ns = deadline_ns, .generation = 1};
}

static void replace_token(void *opaque, size_t timer, int64_t deadline_ns) {
    struct rival *rival = opaque;
    hrt_token *token = &rival->tokens[timer];
    struct node *node = &rival->nodes[token->slot];
    if (node->generation != token->generation) return;
    node->deadline_ns = deadline_ns;
    token->generation = node->generation += 2;
}

static void move_token(void *opaque, size_t timer, int64_t deadline_ns) {
    struct rival *rival = opaque;
    hrt_token token = rival->tokens[timer];
    if (rival->nodes[token.slot].generation == token.generation)
        rival->nodes[token.slot].deadline_ns = deadline_ns;
}

static int64_t never(void *opaque) {
    (void)opaque;
    return INT64_MAX;
}

const struct cbench_queue_ops cbench_rival_null = {
    .id = "limit.loop",
    .create = create,
    .destroy = destroy,
    .add = nothing,
    .replace = nothing,
    .move = nothing,
    .next_ns = never,
};

const struct cbench_queue_ops cbench_rival_touch = {
    .id = "limit.cache-line",
    .create = create,
    .destroy = destroy,
    .add = touch,
    .replace = touch,
    .move = touch,
    .next_ns = never,
};

const struct cbench_queue_ops cbench_rival_touch_token = {
    .id = "limit.token",
    .create = create,
    .destroy = destroy,
    .add = add_token,
    .replace = replace_token,
    .move = move_token,
    .next_ns = never,
};

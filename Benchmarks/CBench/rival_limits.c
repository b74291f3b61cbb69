// The two ends of what a queue can cost: nothing at all, and one access to a random cache line of as much memory as our
// queue has.
#include <stdlib.h>

#include "ops_rival.h"

enum { BYTES_PER_TIMER = 32 };

struct rival {
    char *memory;
    size_t bytes;
};

static void *create(size_t timers) {
    struct rival *rival = malloc(sizeof *rival);
    if (rival == NULL) return NULL;
    rival->bytes = timers * BYTES_PER_TIMER;
    rival->memory = cbench_map(rival->bytes);
    return rival;
}

static void destroy(void *opaque) {
    struct rival *rival = opaque;
    cbench_unmap(rival->memory, rival->bytes);
    free(rival);
}

static void nothing(void *opaque, size_t timer, int64_t deadline_ns) {
    (void)opaque;
    (void)timer;
    (void)deadline_ns;
}

static void touch(void *opaque, size_t timer, int64_t deadline_ns) {
    *(int64_t *)(void *)(((struct rival *)opaque)->memory + timer * BYTES_PER_TIMER) += deadline_ns;
}

static int64_t never(void *opaque) {
    (void)opaque;
    return INT64_MAX;
}

const struct cbench_queue_ops cbench_rival_null = {
    .id = "limit.loop", .create = create, .destroy = destroy, .add = nothing, .replace = nothing, .move = nothing,
    .next_ns = never,
};

const struct cbench_queue_ops cbench_rival_touch = {
    .id = "limit.cache-line", .create = create, .destroy = destroy, .add = touch, .replace = touch, .move = touch,
    .next_ns = never,
};

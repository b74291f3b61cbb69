// A binary heap of slots ordered by (deadline, arming order), behind the same tokens as our queue.
// Each node stores its place in the heap.
#include <stdlib.h>

#include "hrt_clock.h"
#include "hrt_queue.h"
#include "ops_rival.h"

enum { NOT_ARMED = UINT32_MAX, NO_SLOT = UINT32_MAX };

struct node {
    int64_t deadline_ns;
    uint64_t armed_as;    // counts armings: the order of equal deadlines
    // Odd while the slot is taken, so that a token of a free slot never matches.
    uint32_t generation;
    uint32_t place;  // index in the heap, or NOT_ARMED; the next free slot while the slot is free
};

struct heap {
    struct node *nodes;
    uint32_t *heap;
    uint64_t armings;
    size_t capacity;
    hrt_token *tokens;  // by number of the timer
    uint32_t slots_used;  // the number of slots that were ever taken
    uint32_t count;
    uint32_t armed_count;
    uint32_t first_free;
};

static void heap_add(struct heap *queue, hrt_token *out_token) {
    uint32_t slot = queue->first_free;
    if (slot != NO_SLOT) {
        queue->first_free = queue->nodes[slot].place;
        queue->nodes[slot].generation++;
    } else {
        slot = queue->slots_used++;
        queue->nodes[slot].generation = 1;
    }
    queue->nodes[slot].place = NOT_ARMED;
    queue->count++;
    *out_token = (hrt_token){.slot = slot, .generation = queue->nodes[slot].generation};
}

static bool heap_is_live(const struct heap *queue, hrt_token token) {
    return token.slot < queue->slots_used && (token.generation & 1) != 0 &&
           queue->nodes[token.slot].generation == token.generation;
}

static bool is_before(const struct node *a, const struct node *b) {
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns;
    return a->armed_as < b->armed_as;
}

static void put(struct heap *queue, uint32_t place, uint32_t slot) {
    queue->heap[place] = slot;
    queue->nodes[slot].place = place;
}

static void sift_up(struct heap *queue, uint32_t place, uint32_t slot) {
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        if (!is_before(&queue->nodes[slot], &queue->nodes[queue->heap[parent]])) break;
        put(queue, place, queue->heap[parent]);
        place = parent;
    }
    put(queue, place, slot);
}

static void sift_down(struct heap *queue, uint32_t place, uint32_t slot) {
    for (;;) {
        uint64_t child = 2 * (uint64_t)place + 1;
        if (child >= queue->armed_count) break;
        if (child + 1 < queue->armed_count &&
            is_before(&queue->nodes[queue->heap[child + 1]], &queue->nodes[queue->heap[child]])) {
            child++;
        }
        if (!is_before(&queue->nodes[queue->heap[child]], &queue->nodes[slot])) break;
        put(queue, place, queue->heap[child]);
        place = (uint32_t)child;
    }
    put(queue, place, slot);
}

static void take_out(struct heap *queue, uint32_t slot) {
    uint32_t place = queue->nodes[slot].place;
    uint32_t last = queue->heap[--queue->armed_count];
    queue->nodes[slot].place = NOT_ARMED;
    if (last == slot) return;
    if (place > 0 && is_before(&queue->nodes[last], &queue->nodes[queue->heap[(place - 1) / 2]])) {
        sift_up(queue, place, last);
    } else {
        sift_down(queue, place, last);
    }
}

static bool heap_arm(struct heap *queue, hrt_token token, int64_t deadline_ns) {
    if (!heap_is_live(queue, token)) return false;
    struct node *node = &queue->nodes[token.slot];
    if (node->place != NOT_ARMED) take_out(queue, token.slot);
    node->deadline_ns = deadline_ns;
    node->armed_as = queue->armings++;
    sift_up(queue, queue->armed_count++, token.slot);
    return true;
}

static bool heap_remove(struct heap *queue, hrt_token token) {
    if (!heap_is_live(queue, token)) return false;
    struct node *node = &queue->nodes[token.slot];
    if (node->place != NOT_ARMED) take_out(queue, token.slot);
    node->generation++;
    node->place = queue->first_free;
    queue->first_free = token.slot;
    queue->count--;
    return true;
}

static int64_t heap_next_ns(struct heap *queue) {
    return queue->armed_count == 0 ? HRT_NEVER : queue->nodes[queue->heap[0]].deadline_ns;
}

static void *create(size_t timers) {
    struct heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL) return NULL;
    heap->first_free = NO_SLOT;
    heap->capacity = timers;
    heap->nodes = cbench_map(timers * sizeof *heap->nodes);
    heap->heap = cbench_map(timers * sizeof *heap->heap);
    heap->tokens = cbench_map(timers * sizeof *heap->tokens);
    return heap->nodes == NULL || heap->heap == NULL || heap->tokens == NULL ? NULL : heap;
}

static void destroy(void *opaque) {
    struct heap *heap = opaque;
    cbench_unmap(heap->nodes, heap->capacity * sizeof *heap->nodes);
    cbench_unmap(heap->heap, heap->capacity * sizeof *heap->heap);
    cbench_unmap(heap->tokens, heap->capacity * sizeof *heap->tokens);
    free(heap);
}

static void add(void *opaque, size_t timer, int64_t deadline_ns) {
    struct heap *heap = opaque;
    heap_add(heap, &heap->tokens[timer]);
    heap_arm(heap, heap->tokens[timer], deadline_ns);
}

static void cancel(void *opaque, size_t timer) {
    heap_remove(opaque, ((struct heap *)opaque)->tokens[timer]);
}

static void replace(void *opaque, size_t timer, int64_t deadline_ns) {
    cancel(opaque, timer);
    add(opaque, timer, deadline_ns);
}

static void move(void *opaque, size_t timer, int64_t deadline_ns) {
    heap_arm(opaque, ((struct heap *)opaque)->tokens[timer], deadline_ns);
}

static int64_t next_ns(void *opaque) { return heap_next_ns(opaque); }

static bool take_due(void *opaque, int64_t now_ns, struct cbench_fired *fired) {
    struct heap *heap = opaque;
    while (heap_next_ns(heap) <= now_ns) {
        cbench_fire(fired, heap_next_ns(heap));
        take_out(heap, heap->heap[0]);
    }
    return false;
}

static size_t memory_bytes(void *opaque) {
    const struct heap *heap = opaque;
    return heap->capacity * (sizeof *heap->nodes + sizeof *heap->heap);
}

const struct cbench_queue_ops cbench_rival_binary_heap = {
    .id = "heap.binary", .create = create, .destroy = destroy, .add = add, .replace = replace,
    .move = move, .next_ns = next_ns, .take_due = take_due, .memory_bytes = memory_bytes,
    .cancel = cancel,
};

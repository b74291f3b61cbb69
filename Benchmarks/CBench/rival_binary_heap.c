// A binary heap of slots ordered by (deadline, arming order), each node knowing its place in the heap.
#include <errno.h>
#include <stdlib.h>

#include "hrt_clock.h"
#include "hrt_queue.h"
#include "ops_rival.h"

enum { NOT_ARMED = UINT32_MAX, NO_SLOT = UINT32_MAX };

struct node {
    int64_t deadline_ns;
    uint64_t armed_as;    // counts armings: the order of equal deadlines
    uint32_t generation;  // odd while the slot is taken, so that a token of a free slot never matches
    uint32_t place;       // index in the heap, or NOT_ARMED; the next free slot while the slot is free
};

struct heap {
    struct node *nodes;
    uint32_t *heap;
    uint64_t armings;
    uint32_t capacity;
    uint32_t slots_used;  // slots ever given out
    uint32_t count;
    uint32_t armed_count;
    uint32_t first_free;
};

int heap_create(struct heap **out_queue) {
    struct heap *queue = calloc(1, sizeof *queue);
    if (queue == NULL) return -ENOMEM;
    queue->first_free = NO_SLOT;
    *out_queue = queue;
    return 0;
}

void heap_destroy(struct heap *queue) {
    free(queue->nodes);
    free(queue->heap);
    free(queue);
}

static int grow(struct heap *queue) {
    if (queue->capacity >= UINT32_MAX / 2) return -ENOSPC;
    uint32_t capacity = queue->capacity == 0 ? 64 : queue->capacity * 2;
    struct node *nodes = realloc(queue->nodes, capacity * sizeof *nodes);
    if (nodes == NULL) return -ENOMEM;
    queue->nodes = nodes;
    uint32_t *heap = realloc(queue->heap, capacity * sizeof *heap);
    if (heap == NULL) return -ENOMEM;
    queue->heap = heap;
    queue->capacity = capacity;
    return 0;
}

int heap_add(struct heap *queue, hrt_token *out_token) {
    uint32_t slot = queue->first_free;
    if (slot != NO_SLOT) {
        queue->first_free = queue->nodes[slot].place;
        queue->nodes[slot].generation++;
    } else {
        if (queue->slots_used == queue->capacity) {
            int status = grow(queue);
            if (status != 0) return status;
        }
        slot = queue->slots_used++;
        queue->nodes[slot].generation = 1;
    }
    queue->nodes[slot].place = NOT_ARMED;
    queue->count++;
    *out_token = (hrt_token){.slot = slot, .generation = queue->nodes[slot].generation};
    return 0;
}

bool heap_is_live(const struct heap *queue, hrt_token token) {
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

bool heap_arm(struct heap *queue, hrt_token token, int64_t deadline_ns) {
    if (!heap_is_live(queue, token)) return false;
    struct node *node = &queue->nodes[token.slot];
    if (node->place != NOT_ARMED) take_out(queue, token.slot);
    node->deadline_ns = deadline_ns;
    node->armed_as = queue->armings++;
    sift_up(queue, queue->armed_count++, token.slot);
    return true;
}

bool heap_disarm(struct heap *queue, hrt_token token) {
    if (!heap_is_armed(queue, token)) return false;
    take_out(queue, token.slot);
    return true;
}

bool heap_is_armed(const struct heap *queue, hrt_token token) {
    return heap_is_live(queue, token) && queue->nodes[token.slot].place != NOT_ARMED;
}

bool heap_remove(struct heap *queue, hrt_token token) {
    if (!heap_is_live(queue, token)) return false;
    heap_disarm(queue, token);
    struct node *node = &queue->nodes[token.slot];
    node->generation++;
    node->place = queue->first_free;
    queue->first_free = token.slot;
    queue->count--;
    return true;
}

int64_t heap_next_ns(struct heap *queue) {
    return queue->armed_count == 0 ? HRT_NEVER : queue->nodes[queue->heap[0]].deadline_ns;
}

size_t heap_take_due(struct heap *queue, int64_t now_ns, hrt_due *out_due, size_t capacity) {
    size_t taken = 0;
    while (taken < capacity && queue->armed_count > 0) {
        uint32_t slot = queue->heap[0];
        struct node *node = &queue->nodes[slot];
        if (node->deadline_ns > now_ns || node->deadline_ns == HRT_NEVER) break;
        out_due[taken++] = (hrt_due){node->deadline_ns, {slot, node->generation}};
        take_out(queue, slot);
    }
    return taken;
}


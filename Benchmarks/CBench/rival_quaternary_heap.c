// A heap with four children to a node, deadlines cached in its array so that a comparison does not leave it; the layout
// of libev's. A 32-bit count of armings keeps equal deadlines in order.
#include <stdlib.h>

#include "ops_rival.h"

enum { FAN = 4, NOT_ARMED = UINT32_MAX };

struct entry {
    int64_t deadline_ns;
    uint32_t timer;
    uint32_t armed_as;
};

struct heap {
    struct entry *entries;
    uint32_t *places;
    uint32_t count;
    uint32_t armings;
    size_t timers;
};

static void *create(size_t timers) {
    struct heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL) return NULL;
    heap->timers = timers;
    heap->entries = cbench_map(timers * sizeof *heap->entries);
    heap->places = cbench_map(timers * sizeof *heap->places);
    if (heap->entries == NULL || heap->places == NULL) return NULL;
    for (size_t i = 0; i < timers; i++) heap->places[i] = NOT_ARMED;
    return heap;
}

static void destroy(void *opaque) {
    struct heap *heap = opaque;
    cbench_unmap(heap->entries, heap->timers * sizeof *heap->entries);
    cbench_unmap(heap->places, heap->timers * sizeof *heap->places);
    free(heap);
}

static bool is_before(const struct entry *a, const struct entry *b) {
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns;
    return (int32_t)(a->armed_as - b->armed_as) < 0;
}

static void put(struct heap *heap, uint32_t place, struct entry entry) {
    heap->entries[place] = entry;
    heap->places[entry.timer] = place;
}

static void rise(struct heap *heap, uint32_t place, struct entry entry) {
    while (place > 0) {
        uint32_t parent = (place - 1) / FAN;
        if (!is_before(&entry, &heap->entries[parent])) break;
        put(heap, place, heap->entries[parent]);
        place = parent;
    }
    put(heap, place, entry);
}

static void sink(struct heap *heap, uint32_t place, struct entry entry) {
    for (;;) {
        uint32_t child = place * FAN + 1;
        if (child >= heap->count) break;
        uint32_t end = child + FAN < heap->count ? child + FAN : heap->count;
        uint32_t least = child;
        for (child++; child < end; child++) {
            if (is_before(&heap->entries[child], &heap->entries[least])) least = child;
        }
        if (!is_before(&heap->entries[least], &entry)) break;
        put(heap, place, heap->entries[least]);
        place = least;
    }
    put(heap, place, entry);
}

static void settle(struct heap *heap, uint32_t place, struct entry entry) {
    if (place > 0 && is_before(&entry, &heap->entries[(place - 1) / FAN])) {
        rise(heap, place, entry);
    } else {
        sink(heap, place, entry);
    }
}

static void remove_at(struct heap *heap, uint32_t place) {
    heap->places[heap->entries[place].timer] = NOT_ARMED;
    struct entry last = heap->entries[--heap->count];
    if (place < heap->count) settle(heap, place, last);
}

static void add(void *opaque, size_t timer, int64_t deadline_ns) {
    struct heap *heap = opaque;
    rise(heap, heap->count++, (struct entry){deadline_ns, (uint32_t)timer, heap->armings++});
}

static void replace(void *opaque, size_t timer, int64_t deadline_ns) {
    struct heap *heap = opaque;
    if (heap->places[timer] != NOT_ARMED) remove_at(heap, heap->places[timer]);
    add(heap, timer, deadline_ns);
}

static void move(void *opaque, size_t timer, int64_t deadline_ns) {
    struct heap *heap = opaque;
    if (heap->places[timer] == NOT_ARMED) {
        add(heap, timer, deadline_ns);
    } else {
        settle(heap, heap->places[timer], (struct entry){deadline_ns, (uint32_t)timer, heap->armings++});
    }
}

static int64_t next_ns(void *opaque) {
    const struct heap *heap = opaque;
    return heap->count == 0 ? INT64_MAX : heap->entries[0].deadline_ns;
}

static bool take_due(void *opaque, int64_t now_ns, struct cbench_fired *fired) {
    struct heap *heap = opaque;
    while (heap->count > 0 && heap->entries[0].deadline_ns <= now_ns) {
        cbench_fire(fired, heap->entries[0].deadline_ns);
        remove_at(heap, 0);
    }
    return false;
}

static size_t memory_bytes(void *opaque) {
    const struct heap *heap = opaque;
    return heap->timers * (sizeof *heap->entries + sizeof *heap->places);
}

const struct cbench_queue_ops cbench_rival_quaternary_heap = {
    .id = "heap.quaternary", .create = create, .destroy = destroy, .add = add, .replace = replace, .move = move,
    .next_ns = next_ns, .take_due = take_due, .memory_bytes = memory_bytes,
};

// A heap with four children per node, in the layout of libev's: deadlines are cached in its array,
// so that a comparison reads nothing else. A 32-bit count of armings keeps equal deadlines in
// order. Used once behind the same tokens as our queue, and once by slots, for an owner.
#include <stdlib.h>

#include "hrt_queue.h"
#include "ops_rival.h"

enum { FAN = 4, NOT_ARMED = UINT32_MAX, NO_SLOT = UINT32_MAX };

struct entry {
    int64_t deadline_ns;
    uint32_t slot;
    uint32_t armed_as;
};

struct slot {
    // Index of the timer's entry, or NOT_ARMED; the next free slot while the slot is free.
    uint32_t place;
    // Odd while the slot is taken, so that a token of a free slot never matches.
    uint32_t generation;
};

struct heap {
    struct entry *entries;
    struct slot *slots;
    hrt_token *tokens;  // by number of the timer
    uint32_t slots_used;
    uint32_t first_free;
    uint32_t count;
    uint32_t armings;
    size_t timers;
};

static void *create(size_t timers) {
    struct heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL) return NULL;
    heap->timers = timers;
    heap->entries = cbench_map(timers * sizeof *heap->entries);
    heap->slots = cbench_map(timers * sizeof *heap->slots);
    heap->tokens = cbench_map(timers * sizeof *heap->tokens);
    heap->first_free = NO_SLOT;
    return heap->entries == NULL || heap->slots == NULL || heap->tokens == NULL ? NULL : heap;
}

static void destroy(void *opaque) {
    struct heap *heap = opaque;
    cbench_unmap(heap->entries, heap->timers * sizeof *heap->entries);
    cbench_unmap(heap->slots, heap->timers * sizeof *heap->slots);
    cbench_unmap(heap->tokens, heap->timers * sizeof *heap->tokens);
    free(heap);
}

static bool is_before(const struct entry *a, const struct entry *b) {
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns;
    return (int32_t)(a->armed_as - b->armed_as) < 0;
}

static void put(struct heap *heap, uint32_t place, struct entry entry) {
    heap->entries[place] = entry;
    heap->slots[entry.slot].place = place;
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

static void rise_or_sink(struct heap *heap, uint32_t place, struct entry entry) {
    if (place > 0 && is_before(&entry, &heap->entries[(place - 1) / FAN])) {
        rise(heap, place, entry);
    } else {
        sink(heap, place, entry);
    }
}

static void remove_at(struct heap *heap, uint32_t place) {
    heap->slots[heap->entries[place].slot].place = NOT_ARMED;
    struct entry last = heap->entries[--heap->count];
    if (place < heap->count) rise_or_sink(heap, place, last);
}

static void arm(struct heap *heap, uint32_t slot, int64_t deadline_ns) {
    struct entry entry = {deadline_ns, slot, heap->armings++};
    if (heap->slots[slot].place == NOT_ARMED) {
        rise(heap, heap->count++, entry);
    } else {
        rise_or_sink(heap, heap->slots[slot].place, entry);
    }
}

static void disarm(struct heap *heap, uint32_t slot) {
    if (heap->slots[slot].place != NOT_ARMED) remove_at(heap, heap->slots[slot].place);
}

static bool is_live(const struct heap *heap, hrt_token token) {
    return token.slot < heap->slots_used && (token.generation & 1) != 0 &&
           heap->slots[token.slot].generation == token.generation;
}

static void add(void *opaque, size_t timer, int64_t deadline_ns) {
    struct heap *heap = opaque;
    uint32_t slot = heap->first_free;
    if (slot != NO_SLOT) {
        heap->first_free = heap->slots[slot].place;
    } else {
        slot = heap->slots_used++;
    }
    heap->slots[slot].place = NOT_ARMED;
    heap->tokens[timer] = (hrt_token){.slot = slot, .generation = ++heap->slots[slot].generation};
    arm(heap, slot, deadline_ns);
}

static void replace(void *opaque, size_t timer, int64_t deadline_ns) {
    struct heap *heap = opaque;
    hrt_token token = heap->tokens[timer];
    if (is_live(heap, token)) {
        disarm(heap, token.slot);
        heap->slots[token.slot] =
            (struct slot){.place = heap->first_free, .generation = token.generation + 1};
        heap->first_free = token.slot;
    }
    add(heap, timer, deadline_ns);
}

static void move(void *opaque, size_t timer, int64_t deadline_ns) {
    struct heap *heap = opaque;
    if (is_live(heap, heap->tokens[timer])) arm(heap, heap->tokens[timer].slot, deadline_ns);
}

// Timers that were added in order and never removed have slots equal to their numbers.
static void owner_replace(void *opaque, size_t timer, int64_t deadline_ns) {
    disarm(opaque, (uint32_t)timer);
    arm(opaque, (uint32_t)timer, deadline_ns);
}

static void owner_move(void *opaque, size_t timer, int64_t deadline_ns) {
    arm(opaque, (uint32_t)timer, deadline_ns);
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
    return heap->timers * (sizeof *heap->entries + sizeof *heap->slots);
}

const struct cbench_queue_ops cbench_rival_quaternary_heap = {
    .id = "heap.quaternary", .create = create, .destroy = destroy, .add = add, .replace = replace,
    .move = move, .next_ns = next_ns, .take_due = take_due, .memory_bytes = memory_bytes,
};

const struct cbench_queue_ops cbench_rival_quaternary_heap_owner = {
    .id = "heap.quaternary-owner", .create = create, .destroy = destroy, .add = add,
    .replace = owner_replace, .move = owner_move, .next_ns = next_ns, .take_due = take_due,
    .memory_bytes = memory_bytes,
};

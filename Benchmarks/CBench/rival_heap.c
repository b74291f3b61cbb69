// SPDX-License-Identifier: Apache-2.0
// A heap with two or four children per node, in the layout of libev's: deadlines are cached in its
// array, so that a comparison reads nothing else. A 32-bit count of armings keeps equal deadlines
// in order. Used behind the same tokens as our queue, and by slots, for an owner.
#include <stdlib.h>

#include "hrt_queue.h"
#include "ops_rival.h"

enum { NOT_ARMED = UINT32_MAX, NO_SLOT = UINT32_MAX };

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
    uint32_t fan;  // children per node: 2 or 4
    size_t timers;
};

static void *create(size_t timers, uint32_t fan) {
    struct heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL) return NULL;
    heap->fan = fan;
    heap->timers = timers;
    heap->entries = cbench_map(timers * sizeof *heap->entries);
    heap->slots = cbench_map(timers * sizeof *heap->slots);
    heap->tokens = cbench_map(timers * sizeof *heap->tokens);
    heap->first_free = NO_SLOT;
    return heap->entries == NULL || heap->slots == NULL || heap->tokens == NULL ? NULL : heap;
}

static void *create_binary(size_t timers) { return create(timers, 2); }
static void *create_quaternary(size_t timers) { return create(timers, 4); }

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

// Puts an entry into the free `place`, or where the order needs it above or below.
static inline void put_in_order_of(struct heap *heap, uint32_t fan, uint32_t place,
                                   struct entry entry) {
    uint32_t free = place;
    while (free > 0 && is_before(&entry, &heap->entries[(free - 1) / fan])) {
        put(heap, free, heap->entries[(free - 1) / fan]);
        free = (free - 1) / fan;
    }
    bool may_sink = free == place;
    while (may_sink && free * fan + 1 < heap->count) {
        uint32_t least = free * fan + 1;
        uint32_t end = least + fan < heap->count ? least + fan : heap->count;
        for (uint32_t child = least + 1; child < end; child++) {
            if (is_before(&heap->entries[child], &heap->entries[least])) least = child;
        }
        if (!is_before(&heap->entries[least], &entry)) break;
        put(heap, free, heap->entries[least]);
        free = least;
    }
    put(heap, free, entry);
}

// In each branch the compiler knows the number of children.
static void put_in_order(struct heap *heap, uint32_t place, struct entry entry) {
    if (heap->fan == 2) {
        put_in_order_of(heap, 2, place, entry);
    } else {
        put_in_order_of(heap, 4, place, entry);
    }
}

static void remove_at(struct heap *heap, uint32_t at) {
    heap->slots[heap->entries[at].slot].place = NOT_ARMED;
    struct entry last = heap->entries[--heap->count];
    if (at < heap->count) put_in_order(heap, at, last);
}

static void arm(struct heap *heap, uint32_t slot, int64_t deadline_ns) {
    struct entry entry = {deadline_ns, slot, heap->armings++};
    bool is_new = heap->slots[slot].place == NOT_ARMED;
    put_in_order(heap, is_new ? heap->count++ : heap->slots[slot].place, entry);
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

static void cancel(void *opaque, size_t timer) {
    struct heap *heap = opaque;
    hrt_token token = heap->tokens[timer];
    if (!is_live(heap, token)) return;
    disarm(heap, token.slot);
    heap->slots[token.slot] =
        (struct slot){.place = heap->first_free, .generation = token.generation + 1};
    heap->first_free = token.slot;
}

static void replace(void *opaque, size_t timer, int64_t deadline_ns) {
    cancel(opaque, timer);
    add(opaque, timer, deadline_ns);
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
        cbench_count_fired(fired, heap->entries[0].deadline_ns);
        remove_at(heap, 0);
    }
    return false;
}

static size_t memory_bytes(void *opaque) {
    const struct heap *heap = opaque;
    return heap->timers * (sizeof *heap->entries + sizeof *heap->slots);
}

// One kind of heap. An owner replaces and moves timers by their slots.
#define HEAP(name, create_it, replace_it, move_it)                                                 \
    {                                                                                              \
        .id = name, .create = create_it, .destroy = destroy, .add = add, .replace = replace_it,    \
        .move = move_it, .next_ns = next_ns, .take_due = take_due, .memory_bytes = memory_bytes,   \
        .cancel = cancel                                                                           \
    }

const struct cbench_queue_ops cbench_rival_binary_heap =
    HEAP("heap.binary", create_binary, replace, move);
const struct cbench_queue_ops cbench_rival_quaternary_heap =
    HEAP("heap.quaternary", create_quaternary, replace, move);
const struct cbench_queue_ops cbench_rival_quaternary_heap_owner =
    HEAP("heap.quaternary-owner", create_quaternary, owner_replace, owner_move);

// SPDX-License-Identifier: Apache-2.0
// The queue's invariants, each in one place. A check aborts with the sentence that does not hold.
#include <stdio.h>
#include <stdlib.h>

#include "../../CSources/CHRTimer/queue/hrt_queue_class.h"
#include "ctest_queue.h"

struct census {
    size_t queued;  // nodes found in the per-class wheels
    size_t live;    // nodes that are not free
    size_t armed;
    size_t places;  // nodes whose place says that they are queued
};

static void require(bool holds, const char *sentence, uint32_t index) {
    if (holds) return;
    fprintf(stderr, "hrt_queue: not so at node %u: %s\n", index, sentence);
    abort();
}

// Returns whether the queue looks at a node of the bucket no later than at the key.
static bool looks_by(const struct hrt_class *class, uint32_t bucket, uint64_t key) {
    uint32_t level_shift = (bucket >> HRT_LEVEL_BITS) * HRT_LEVEL_BITS;
    uint64_t level_tick = class->tick >> level_shift;
    uint64_t ahead = (bucket - level_tick) & (HRT_BUCKETS - 1);
    return key >> HRT_TICK_BITS >= class->tick &&
           (key >> HRT_TICK_BITS >> level_shift) - level_tick >= ahead;
}

static void check_bucket(const struct hrt_queue *queue, const struct hrt_class *class,
                         unsigned level, uint32_t number, struct census *census) {
    uint32_t place = level * HRT_BUCKETS + number;
    const struct hrt_bucket *bucket = &class->buckets[place];
    bool is_occupied = (class->levels[level].occupied[number / 64] >> (number % 64) & 1) != 0;
    uint64_t present = class->tick >> (level * HRT_LEVEL_BITS);
    uint64_t begin = (present + ((number - present) & (HRT_BUCKETS - 1)))
                     << (level * HRT_LEVEL_BITS);
    bool is_cascading =
        (class->cascading >> level & 1) != 0 && (present & (HRT_BUCKETS - 1)) == number;
    for (uint32_t chain = 0; chain < HRT_CHAINS; chain++) {
        uint32_t previous = 0;
        for (uint32_t index = bucket->chains[chain].first; index != 0;
             index = hrt_node_at(queue, index)->next) {
            const struct hrt_node *node = hrt_node_at(queue, index);
            require(is_occupied, "a bucket that holds a node is occupied", index);
            require(index % HRT_CHAINS == chain, "a node is in the chain of its index", index);
            require(node->previous == previous, "links agree in both directions", index);
            require(node->place == (class->base | place), "a node knows its bucket and class",
                    index);
            require(!hrt_node_is_armed(node) || class->earliest[place] <= node->key,
                    "no armed key in a bucket is before its earliest", index);
            require(!hrt_node_is_armed(node) || looks_by(class, place, node->key),
                    "an armed node is looked at no later than it is due", index);
            require(is_cascading || (present & (HRT_BUCKETS - 1)) != number,
                    "the bucket of the present has cascaded", index);
            require(is_cascading || begin >= class->look_tick,
                    "no bucket that holds a node begins before the next look", index);
            require(class->earliest[place] >> HRT_TICK_BITS >= class->tick,
                    "no bucket's earliest key is before the present", index);
            previous = index;
            census->queued++;
        }
        require(bucket->chains[chain].last == previous, "a chain ends at its last node", previous);
    }
}

// The nodes found in the near tier of a per-class wheel.
struct found {
    uint64_t earliest_near;
    uint32_t near;
};

static void check_near_node(const struct hrt_queue *queue, const struct hrt_class *class,
                            uint32_t index, struct found *found) {
    const struct hrt_node *node = hrt_node_at(queue, index);
    require(hrt_node_is_armed(node), "nodes of the near tier are armed", index);
    if (node->key < found->earliest_near) found->earliest_near = node->key;
    found->near++;
    if (class->windows == NULL) return;
    const struct hrt_windows *windows = class->windows;
    uint32_t entry = *hrt_window_entry_of(queue, index);
    require(entry < windows->count && windows->heap.ends[entry].index == index &&
                windows->heap.ends[entry].end == *hrt_window_end_of(queue, index),
            "the end of the window of a node that is near stands in the heap of ends", index);
}

static void check_near(const struct hrt_queue *queue, const struct hrt_class *class,
                       struct census *census) {
    struct found found = {.earliest_near = HRT_KEY_NEVER};
    uint32_t previous = 0;
    for (uint32_t index = class->run_first; index != 0; index = hrt_node_at(queue, index)->next) {
        const struct hrt_node *node = hrt_node_at(queue, index);
        require(node->place == (HRT_IN_RUN | class->base),
                "a node of the run knows that it is there", index);
        require(node->previous == previous, "links of the run agree in both directions", index);
        require(previous == 0 || hrt_node_is_before(hrt_node_at(queue, previous), node),
                "the run is in order", index);
        check_near_node(queue, class, index, &found);
        previous = index;
    }
    require(class->run_last == previous, "the run ends at its last node", previous);
    for (uint32_t place = 0; place < class->heap_count; place++) {
        uint32_t index = class->heap.indices[place];
        const struct hrt_node *node = hrt_node_at(queue, index);
        require(node->place == (HRT_IN_HEAP | class->base | place),
                "a node of the heap knows its place", index);
        require(place == 0 || hrt_node_is_before(
                                  hrt_node_at(queue, class->heap.indices[(place - 1) / 4]), node),
                "no node of the heap is before its parent", index);
        check_near_node(queue, class, index, &found);
    }
    require(class->near_count == found.near, "the count of nodes that are near is right",
            found.near);
    require(hrt_near_key(queue, class) == found.earliest_near,
            "the earliest node that is near is known", 0);
    census->queued += found.near;
}

static void check_ends(const struct hrt_queue *queue) {
    const struct hrt_windows *windows = &queue->windows;
    for (uint32_t place = 0; place < windows->count; place++) {
        uint32_t index = windows->heap.ends[place].index;
        require(hrt_slab_node_at(queue, index) != NULL,
                "the heap of ends has no node whose memory was given back", index);
        require(*hrt_window_entry_of(queue, index) == place,
                "a node has one place in the heap of ends", index);
        require(place == 0 ||
                    windows->heap.ends[(place - 1) / 4].end <= windows->heap.ends[place].end,
                "no end is before its parent in the heap", index);
    }
}

static void check_class(const struct hrt_queue *queue, const struct hrt_class *class,
                        struct census *census) {
    for (unsigned level = 0; level < HRT_LEVELS; level++) {
        for (uint32_t word = 0; word < HRT_OCCUPIED_WORDS; word++) {
            require((class->levels[level].occupied[word] != 0) ==
                        (class->levels[level].occupied_words >> word & 1),
                    "the summary of occupied words agrees with them", word);
        }
        for (uint32_t number = 0; number < HRT_BUCKETS; number++) {
            check_bucket(queue, class, level, number, census);
        }
    }
    require(class->cascading == 0 || class->look_tick == class->tick,
            "time does not pass a bucket that cascades", 0);
    check_near(queue, class, census);
    if (class->windows != NULL) check_ends(queue);
}

// The earliest key and window end, found by looking at every node.
struct earliest {
    uint64_t key;
    uint64_t end;
};

static void check_node(struct hrt_queue *queue, uint32_t index, struct census *census,
                       struct earliest *earliest) {
    const struct hrt_node *node = hrt_node_at(queue, index);
    const struct hrt_class *class = hrt_class_of(queue, node);
    require(class != NULL, "a node's class exists", index);
    census->live++;
    census->places += hrt_node_is_queued(node);
    if (!hrt_node_is_armed(node)) return;
    census->armed++;
    require(hrt_node_is_queued(node) || node->key == HRT_KEY_NEVER, "an armed node is queued",
            index);
    struct earliest *of_class = &earliest[hrt_node_class(node) >> HRT_PLACE_CLASS_SHIFT];
    if (node->key < of_class->key) of_class->key = node->key;
    if (class->windows == NULL) return;
    uint64_t end = *hrt_window_end_of(queue, index);
    require(end >= node->key, "a window ends after it begins", index);
    if (end < of_class->end) of_class->end = end;
}

static void check_bounds(const struct hrt_class *class, struct earliest earliest) {
    require(class->bound <= earliest.key, "no armed key is before the bound", 0);
    require(class->certainty != HRT_EXACT || class->bound == earliest.key,
            "an exact bound is the earliest key", 0);
    if (class->windows == NULL) return;
    require(class->windows->wake <= earliest.end, "no window ends before the bound of ends", 0);
    require(class->certainty != HRT_EXACT || class->windows->wake == earliest.end,
            "an exact end is the earliest", 0);
}

static void check_free(const struct hrt_queue *queue, uint32_t index, struct census *census) {
    require(!hrt_node_is_armed(hrt_node_at(queue, index)), "only live timers are armed", index);
    census->live--;
}

static void check_chunk(const struct hrt_queue *queue, uint32_t number, struct census *census) {
    const struct hrt_chunk *chunk = &queue->chunks[number];
    if (chunk->memory == NULL) {
        require(chunk->live == 0 && chunk->used == 0 && chunk->first_free == 0,
                "a chunk without memory has no node", number);
        return;
    }
    uint32_t free_count = 0, retired = 0;
    for (uint32_t free = chunk->first_free; free != 0; free_count++) {
        require(free >> HRT_CHUNK_BITS == number, "a free node is in the list of its chunk", free);
        check_free(queue, free, census);
        free = (uint32_t)hrt_node_at(queue, free)->sequence;
    }
    for (uint32_t i = 0; i < chunk->used; i++)
        retired += chunk->memory->nodes[i].generation == HRT_RETIRED;
    census->live -= retired;
    uint32_t given = chunk->used - (number == 0 ? 1 : 0);
    require(chunk->live + free_count == given, "a node is either free or given out", number);
    bool is_full = free_count == 0 && chunk->used == HRT_CHUNK_NODES;
    require((queue->full[number / 64] >> (number % 64) & 1) == is_full,
            "it is known which chunks are full", number);
    require(chunk->live != 0 || number == 0 || chunk->is_listed,
            "an empty chunk is listed to be given back", number);
    // The heaps have room for every node that may come into them.
    for (unsigned class = 0; class < HRT_CLASSES; class ++) {
        require(queue->classes[class] == NULL ||
                    queue->classes[class]->heap.chunks >= queue->mapped_count,
                "the heaps have room for all nodes", number);
    }
}

static void check_chunks(const struct hrt_queue *queue, struct census *census) {
    if (queue->spare != 0) check_free(queue, queue->spare, census);
    uint32_t mapped = 0, listed = 0;
    for (uint32_t number = 0; number < queue->chunk_count; number++) {
        check_chunk(queue, number, census);
        mapped += queue->chunks[number].memory != NULL;
        listed += queue->chunks[number].is_listed;
    }
    require(mapped == queue->mapped_count, "the count of chunks is right", mapped);
    for (uint32_t number = queue->first_empty; number != 0;
         number = queue->chunks[number].next_empty, listed--)
        require(queue->chunks[number].is_listed, "a listed chunk knows that it is", number);
    require(listed == 0, "a chunk that is listed is found in the list", listed);
    for (uint32_t number = 0; number < queue->room_chunk; number++)
        require((queue->full[number / 64] >> (number % 64) & 1) != 0,
                "the lowest chunk with room is known", number);
}

void ctest_queue_check(hrt_queue *queue) {
    struct census census = {0};
    struct earliest earliest[HRT_CLASSES];
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        earliest[number] = (struct earliest){.key = HRT_KEY_NEVER, .end = HRT_KEY_NEVER};
        if (queue->classes[number] != NULL) check_class(queue, queue->classes[number], &census);
    }
    for (uint32_t number = 0; number < queue->chunk_count; number++) {
        for (uint32_t i = number == 0 ? 1 : 0; i < queue->chunks[number].used; i++)
            check_node(queue, number * HRT_CHUNK_NODES + i, &census, earliest);
    }
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        if (queue->classes[number] != NULL) check_bounds(queue->classes[number], earliest[number]);
    }
    require(census.queued == census.places, "every node that says it is queued is found, once", 0);
    check_chunks(queue, &census);
    require(census.live == hrt_queue_count(queue), "the count of timers is right", 0);
    require(census.armed == queue->armed_count, "the count of armed timers is right", 0);
}

int64_t ctest_queue_deadline_ns(const hrt_queue *queue, hrt_token token) {
    const struct hrt_node *node = hrt_slab_node(queue, token);
    return node != NULL && hrt_node_is_armed(node) ? hrt_key_ns(node->key) : INT64_MAX;
}

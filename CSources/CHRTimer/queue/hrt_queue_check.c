// The invariants, each in one place. Abort with the sentence that does not hold.
#include "hrt_queue_parts.h"

#ifdef HRT_CHECKING

#include <stdio.h>
#include <stdlib.h>

struct census {
    size_t filed;   // nodes that the lanes lead to
    size_t live;    // nodes that are not free
    size_t armed;
    size_t places;  // nodes that say they are filed
};

static void require(bool holds, const char *sentence, uint32_t index) {
    if (holds) return;
    fprintf(stderr, "hrt_queue: not so at node %u: %s\n", index, sentence);
    abort();
}

static void check_bucket(const struct hrt_queue *queue, const struct hrt_lane *lane, unsigned level, uint32_t number,
                         uint32_t lane_bit, struct census *census) {
    uint32_t place = level * HRT_BUCKETS + number;
    const struct hrt_bucket *bucket = &lane->buckets[place];
    bool is_marked = (lane->levels[level].marks[number / 64] >> (number % 64) & 1) != 0;
    uint64_t present = lane->tick >> (level * HRT_LEVEL_BITS);
    bool is_opening = (lane->opening >> level & 1) != 0 && (present & (HRT_BUCKETS - 1)) == number;
    for (uint32_t chain = 0; chain < HRT_CHAINS; chain++) {
        uint32_t previous = 0;
        for (uint32_t index = bucket->chains[chain].first; index != 0; index = hrt_node_at(queue, index)->next) {
            const struct hrt_node *node = hrt_node_at(queue, index);
            require(is_marked, "a bucket that holds a node is marked", index);
            require(index % HRT_CHAINS == chain, "a node is in the chain of its index", index);
            require(node->previous == previous, "links agree in both directions", index);
            require(node->place == (lane_bit | place),
                    "a node knows its bucket and lane", index);
            require(!hrt_node_is_armed(node) || lane->earliest[place] <= node->key,
                    "no armed key in a bucket is before its earliest", index);
            require(!hrt_node_is_armed(node) || hrt_wheel_looks_by(lane, place, node->key),
                    "an armed node is looked at no later than it is due", index);
            require(is_opening || (present & (HRT_BUCKETS - 1)) != number, "the bucket of the present is open", index);
            require(lane->earliest[place] >> HRT_TICK_BITS >= lane->tick,
                    "no bucket's earliest key is before the present", index);
            previous = index;
            census->filed++;
        }
        require(bucket->chains[chain].last == previous, "a chain ends at its last node", previous);
    }
}

static void check_near(const struct hrt_queue *queue, const struct hrt_lane *lane, uint32_t lane_bit,
                       struct census *census) {
    uint32_t previous = 0;
    for (uint32_t index = lane->run_first; index != 0; index = hrt_node_at(queue, index)->next) {
        const struct hrt_node *node = hrt_node_at(queue, index);
        require(node->place == (HRT_IN_RUN | lane_bit), "a node of the run knows that it is there", index);
        require(node->previous == previous, "links of the run agree in both directions", index);
        require(hrt_node_is_armed(node), "nodes of the run are armed", index);
        require(node->key >> HRT_TICK_BITS <= lane->tick, "nodes of the run are due by the end of the tick", index);
        require(previous == 0 || hrt_node_is_before(hrt_node_at(queue, previous), node), "the run is in order", index);
        previous = index;
        census->filed++;
    }
    require(lane->run_last == previous, "the run ends at its last node", previous);
    for (uint32_t place = 0; place < lane->heap_count; place++) {
        uint32_t index = lane->heap[place];
        const struct hrt_node *node = hrt_node_at(queue, index);
        require(node->place == (HRT_IN_HEAP | lane_bit | place), "a node of the heap knows its place", index);
        require(hrt_node_is_armed(node), "nodes of the heap are armed", index);
        require(node->key >> HRT_TICK_BITS <= lane->tick, "nodes of the heap are due by the end of the tick", index);
        require(place == 0 || hrt_node_is_before(hrt_node_at(queue, lane->heap[(place - 1) / 4]), node),
                "no node of the heap is before its parent", index);
        census->filed++;
    }
}

static void check_lane(const struct hrt_queue *queue, const struct hrt_lane *lane, uint32_t lane_bit,
                       struct census *census) {
    for (unsigned level = 0; level < HRT_LEVELS; level++) {
        for (uint32_t word = 0; word < HRT_MARK_WORDS; word++) {
            require((lane->levels[level].marks[word] != 0) == (lane->levels[level].marked_words >> word & 1),
                    "the summary of marks agrees with them", word);
        }
        for (uint32_t number = 0; number < HRT_BUCKETS; number++) {
            check_bucket(queue, lane, level, number, lane_bit, census);
        }
    }
    require(lane->earliest[HRT_NOWHERE] == HRT_KEY_NEVER, "nowhere is later than any key", 0);
    check_near(queue, lane, lane_bit, census);
}

static void check_node(const struct hrt_queue *queue, uint32_t index, struct census *census) {
    const struct hrt_node *node = hrt_node_at(queue, index);
    const struct hrt_lane *lane = hrt_node_lane(node) == 0 ? &queue->lane : &queue->windows->lane;
    census->live++;
    census->places += hrt_node_is_filed(node);
    if (!hrt_node_is_armed(node)) return;
    census->armed++;
    require(lane->is_bound_stale || lane->bound <= node->key,
            "no armed key is before the bound", index);
    require(hrt_node_is_filed(node) || node->key == HRT_KEY_NEVER, "an armed node is filed", index);
    if (hrt_node_lane(node) != 0) {
        const struct hrt_queue *ends = queue->windows->ends;
        uint32_t end = queue->windows->end_slots[index];
        require(hrt_queue_is_armed_slot(ends, end), "a timer with tolerance has an end of its window", index);
        require(hrt_key(hrt_queue_deadline_ns_slot(ends, end)) >= node->key, "a window ends after it begins", index);
    }
}

static void check_free(const struct hrt_queue *queue, uint32_t index, struct census *census) {
    require(!hrt_node_is_armed(hrt_node_at(queue, index)), "only live timers are armed", index);
    census->live--;
}

static void check_blocks(const struct hrt_queue *queue) {
    require(queue->blocks_used <= queue->blocks_reserved, "every block has its place in the array", 0);
    require(queue->slots == (queue->blocks_used == 0 ? 0 : queue->blocks_used * HRT_BLOCK_NODES - 1),
            "tokens are looked for in the blocks there are, and nowhere else", queue->slots);
    for (uint32_t number = 0; number < queue->blocks_used; number++) {
        const struct hrt_block *block = &queue->blocks[number];
        require(block->live <= block->used, "no node lives that was not given out", number);
        require(block->used != 0 || block->first_free == 0, "no free node in a block without memory", number);
    }
}

static void check_free_nodes(const struct hrt_queue *queue, struct census *census) {
    for (uint32_t i = 0; i < queue->spare_count; i++) check_free(queue, queue->spares[i] + 1, census);
    for (uint32_t block = 0; block < queue->blocks_used; block++) {
        uint32_t free = queue->blocks[block].first_free;
        for (; free != 0; free = (uint32_t)hrt_node_at(queue, free)->arming) check_free(queue, free, census);
        for (uint32_t i = 0; i < queue->blocks[block].used; i++) {
            if (queue->nodes[block * HRT_BLOCK_NODES + i].generation == HRT_RETIRED) census->live--;
        }
    }
}

void hrt_queue_check(hrt_queue *queue) {
    hrt_wheel_file_listed(queue, &queue->lane);
    struct census census = {0};
    check_blocks(queue);
    check_lane(queue, &queue->lane, 0, &census);
    if (queue->windows != NULL) {
        check_lane(queue, &queue->windows->lane, HRT_PLACE_LANE, &census);
        hrt_queue_check(queue->windows->ends);
    }
    for (uint32_t block = 0; block < queue->blocks_used; block++) {
        for (uint32_t i = block == 0 ? 1 : 0; i < queue->blocks[block].used; i++) {
            check_node(queue, block * HRT_BLOCK_NODES + i, &census);
        }
    }
    require(census.filed == census.places, "every node that says it is filed is found, once", 0);
    check_free_nodes(queue, &census);
    require(census.live == hrt_queue_count(queue), "the count of timers is right", 0);
    require(census.armed == queue->armed_count, "the count of armed timers is right", 0);
}

#else

void hrt_queue_check(hrt_queue *queue) { (void)queue; }

#endif

// A lane: nodes on their way from the wheel, through the near tier, to being due.
#include <errno.h>

#include "hrt_queue_parts.h"

static size_t heap_bytes(uint32_t blocks) { return (size_t)blocks * HRT_BLOCK_NODES * sizeof(uint32_t); }

void hrt_lane_init(struct hrt_lane *lane, uint64_t tick) {
    lane->tick = tick;
    lane->bound = HRT_KEY_NEVER;
    lane->earliest[HRT_NOWHERE] = HRT_KEY_NEVER;
}

// Room in the heap for the nodes of so many blocks. It is not touched until it is used. 0 or -ENOMEM.
int hrt_lane_reserve(struct hrt_lane *lane, uint32_t blocks) {
    if (blocks <= lane->heap_blocks) return 0;
    uint32_t *heap = hrt_pages_resize(lane->heap, heap_bytes(lane->heap_blocks), heap_bytes(blocks));
    if (heap == NULL) return -ENOMEM;
    lane->heap = heap;
    lane->heap_blocks = blocks;
    return 0;
}

void hrt_lane_release(struct hrt_lane *lane) { hrt_pages_unmap(lane->heap, heap_bytes(lane->heap_blocks)); }

size_t hrt_lane_heap_bytes(const struct hrt_lane *lane) {
    return hrt_pages_resident(lane->heap, heap_bytes(lane->heap_blocks));
}

void hrt_lane_file(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t index) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_at(queue, index);
    assert(!hrt_node_is_filed(node));
    if (node->key == HRT_KEY_NEVER) return;  // armed, and nothing to look for
    if (node->key >> HRT_TICK_BITS <= lane->tick) {
        hrt_near_file(queue, lane, index);
    } else {
        hrt_wheel_link(queue, lane, index);
    }
}

void hrt_lane_unfile(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t index) HRT_NONBLOCKING {
    const struct hrt_node *node = hrt_node_at(queue, index);
    if (hrt_node_is_near(node)) {
        hrt_near_unfile(queue, lane, index);
    } else if (hrt_node_is_filed(node)) {
        hrt_wheel_unlink(queue, lane, index);
    }
}

void hrt_lane_refile(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t index) HRT_NONBLOCKING {
    hrt_lane_unfile(queue, lane, index);
    hrt_lane_file(queue, lane, index);
}

// Files the node anew unless it is in a bucket that is looked at in time.
void hrt_lane_file_sooner(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t index) HRT_NONBLOCKING {
    const struct hrt_node *node = hrt_node_at(queue, index);
    bool is_in_wheel = hrt_node_is_filed(node) && !hrt_node_is_near(node);
    if (is_in_wheel && hrt_wheel_looks_by(lane, hrt_node_index(node), node->key)) {
        uint64_t *earliest = &lane->earliest[hrt_node_index(node)];
        if (node->key < *earliest) *earliest = node->key;
    } else {
        hrt_lane_refile(queue, lane, index);
    }
}

uint64_t hrt_lane_bound(struct hrt_queue *queue, struct hrt_lane *lane) HRT_NONBLOCKING {
    if (!lane->is_bound_stale) return lane->bound;
    hrt_wheel_file_listed(queue, lane);
    uint32_t first = hrt_near_first(queue, lane);
    uint64_t near = first == 0 ? HRT_KEY_NEVER : hrt_node_at(queue, first)->key;
    if (lane->opening != 0) {
        // What is still in the opened buckets is not sorted yet; it lies in the present tick or after it.
        uint64_t present = lane->tick << HRT_TICK_BITS;
        return near < present ? near : present;
    }
    if (first != 0) {
        lane->bound = near;
    } else {
        // The same bound again was left behind by a timer that is no longer there, unless a second one has the same
        // deadline.
        uint64_t bound = hrt_wheel_bound(queue, lane, false);
        lane->bound = bound != lane->bound ? bound : hrt_wheel_bound(queue, lane, true);
    }
    lane->is_bound_stale = false;
    return lane->bound;
}

// Moves the present on, to the next bucket to be opened or, if none begins by then, to now_tick.
static bool advance(struct hrt_lane *lane, uint64_t now_tick) {
    if (now_tick <= lane->tick) return false;
    uint64_t next_tick;
    uint8_t levels;
    if (!hrt_wheel_next_tick(lane, &next_tick, &levels) || next_tick > now_tick) {
        lane->tick = now_tick;
        return false;
    }
    lane->tick = next_tick;
    lane->opening = levels;
    return true;
}

// Gives the first armed node with key <= now_key, still filed; 0 if there is none. False if the moves were used up
// before it was known; the bound is then not after now_key, unless nothing is due.
bool hrt_lane_due(struct hrt_queue *queue, struct hrt_lane *lane, uint64_t now_key, int *moves_left,
                  uint32_t *out_first) HRT_NONBLOCKING {
    *out_first = 0;
    if (lane->to_file_count != 0) hrt_wheel_file_listed(queue, lane);
    for (;;) {
        if (lane->opening != 0) {
            lane->is_bound_stale = true;
            hrt_wheel_open(queue, lane, moves_left);
            if (lane->opening != 0) return false;
        }
        uint32_t first = hrt_near_first(queue, lane);
        if (first != 0) {
            if (hrt_node_at(queue, first)->key <= now_key) *out_first = first;
            return true;
        }
        if (*moves_left <= 0) return false;
        if (!advance(lane, now_key >> HRT_TICK_BITS)) return true;
        --*moves_left;
    }
}

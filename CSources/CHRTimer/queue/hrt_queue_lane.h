// A lane: wheel, near tier and windows together, told the time.
#ifndef HRT_QUEUE_LANE_H
#define HRT_QUEUE_LANE_H

#include "hrt_queue_wheel.h"

// Moves time on, and is done, if nothing can be due by then and no bucket begins.
static inline bool hrt_lane_passes(struct hrt_lane *lane, uint64_t now_key) {
    uint64_t now_tick = now_key >> HRT_TICK_BITS;
    if (now_key >= lane->bound || now_tick >= lane->look_tick) return false;
    if (now_tick > lane->tick) lane->tick = now_tick;
    return true;
}

struct hrt_lane *hrt_lane_make(struct hrt_queue *queue, enum hrt_lane_number number);
void hrt_lane_init(struct hrt_lane *lane, enum hrt_lane_number number, uint64_t tick);
int hrt_lane_reserve(struct hrt_lane *lane, uint32_t blocks);
void hrt_lane_release(struct hrt_lane *lane);
void hrt_lane_trim(struct hrt_lane *lane);
size_t hrt_lane_bytes(const struct hrt_lane *lane);
uint64_t hrt_lane_bound(struct hrt_queue *queue, struct hrt_lane *lane) HRT_NONBLOCKING;
uint64_t hrt_lane_wake(struct hrt_queue *queue, struct hrt_lane *lane) HRT_NONBLOCKING;
bool hrt_lane_settle(struct hrt_queue *queue, struct hrt_lane *lane,
                     int *moves_left) HRT_NONBLOCKING;
bool hrt_lane_due(struct hrt_queue *queue, struct hrt_lane *lane, uint64_t now_key, int *moves_left,
                  uint32_t *out_first) HRT_NONBLOCKING;
void hrt_lane_told(struct hrt_lane *lane, uint64_t now_key, bool is_served) HRT_NONBLOCKING;

// A node in the wheel or nowhere is armed for the key: its filing serves, or it is to be filed
// anew. True if the list of those must now be worked off.
//
// Which of the two is a toss-up, and its outcome waits for the node, which may not be in the cache:
// a branch would cost a misprediction every other time, and with it all that the processor began
// meanwhile. So nothing branches on it. The node is written to the end of the list, which grows by
// one or does not. The list is worked off when it is full or in the way; its nodes are in the cache
// by then.
static HRT_ON_PATH bool hrt_lane_armed(struct hrt_lane *lane, uint32_t slot, uint32_t bucket,
                                       uint64_t key) {
    if (HRT_UNLIKELY(key < lane->bound)) lane->bound = key;
    lane->to_file[lane->to_file_count] = slot;
    lane->to_file_count += key < lane->earliest[bucket];
    return lane->to_file_count == HRT_TO_FILE;
}

// The timer, which was armed, is armed no longer, or is about to be armed anew.
static inline void hrt_lane_leaves(struct hrt_lane *lane, uint32_t index,
                                   const struct hrt_node *node) {
    if (node->key == lane->bound) lane->certainty = HRT_STALE;
    if (lane->windows != NULL && index == lane->windows->wake_index) lane->certainty = HRT_STALE;
}

// The node is taken: `arming` is 0 unless it is armed.
static HRT_ON_PATH void hrt_node_set_armed(struct hrt_queue *queue, struct hrt_node *node,
                                           uint64_t key) {
    queue->armed_count += node->arming < 1;
    node->arming = ++queue->armings;
    node->key = key;
}

// In the near tier that ends the filing, in the wheel it does not.
static inline bool hrt_node_disarm(struct hrt_queue *queue, uint32_t index, struct hrt_node *node) {
    if (!hrt_node_is_armed(node)) return false;
    struct hrt_lane *lane = hrt_lane_of(queue, node);
    queue->armed_count--;
    hrt_lane_leaves(lane, index, node);
    if (hrt_node_is_near(node)) hrt_near_unfile(queue, lane, index);
    node->arming = 0;
    return true;
}

static inline hrt_due hrt_node_due(uint32_t index, const struct hrt_node *node) {
    return (hrt_due){.deadline_ns = hrt_key_ns(node->key),
                     .token = {.slot = index - 1, .generation = node->generation},
                     .arming = node->arming & ~HRT_ARMED};
}

#endif

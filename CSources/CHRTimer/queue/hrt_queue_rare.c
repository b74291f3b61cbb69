// What the common paths of hrt_queue.c leave apart: arming and removing a node that is near, not filed, or has
// tolerance, and whatever is full or empty. In a file of its own, so that the compiler cannot look into it and a common
// path ends in a jump here: it then needs no stack, and nothing kept over a call.
#include "hrt_queue_parts.h"

static void file_armed(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t index, uint64_t key) {
    if (key < lane->bound) lane->bound = key;
    hrt_lane_file_sooner(queue, lane, index);
}

bool hrt_rare_arm_exact(struct hrt_queue *queue, uint32_t index, uint64_t key) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_at(queue, index);
    struct hrt_lane *lane = hrt_lane_of(queue, node);
    if (node->key == lane->bound) lane->is_bound_stale = true;
    if (hrt_node_lane(node) != 0) {
        if (hrt_node_is_armed(node)) hrt_windows_close(queue, index);
        hrt_lane_unfile(queue, lane, index);
        node->place = HRT_NOWHERE;
    }
    hrt_node_set_armed(queue, node, key);
    file_armed(queue, &queue->lane, index, key);
    return true;
}

static bool arm_tolerant(struct hrt_queue *queue, uint32_t index, uint64_t key, uint64_t tolerance) {
    struct hrt_node *node = hrt_node_at(queue, index);
    struct hrt_lane *old_lane = hrt_lane_of(queue, node);
    uint64_t end;
    if (__builtin_add_overflow(key, tolerance, &end)) end = HRT_KEY_NEVER;
    if (!hrt_windows_open(queue, index, end)) return hrt_rare_arm_exact(queue, index, key);
    if (node->key == old_lane->bound) old_lane->is_bound_stale = true;
    hrt_node_set_armed(queue, node, key);
    file_armed(queue, &queue->windows->lane, index, key);
    return true;
}

bool hrt_rare_arm(struct hrt_queue *queue, uint32_t index, uint64_t key, int64_t tolerance_ns) {
    if (tolerance_ns > 0) return arm_tolerant(queue, index, key, (uint64_t)tolerance_ns);
    return hrt_rare_arm_exact(queue, index, key);
}

int hrt_rare_arm_new(struct hrt_queue *queue, uint32_t index, uint64_t key) {
    hrt_rare_arm_exact(queue, index, key);
    return 0;
}

int hrt_rare_schedule(struct hrt_queue *queue, int64_t deadline_ns, int64_t tolerance_ns, hrt_token *out_token) {
    int status = hrt_queue_add(queue, out_token);
    if (status == 0) hrt_rare_arm(queue, out_token->slot + 1, hrt_key(deadline_ns), tolerance_ns);
    return status;
}

bool hrt_rare_file_listed(struct hrt_queue *queue) HRT_NONBLOCKING {
    hrt_wheel_file_listed(queue, &queue->lane);
    return true;
}

int hrt_rare_file_listed_for_new(struct hrt_queue *queue) {
    hrt_wheel_file_listed(queue, &queue->lane);
    return 0;
}

bool hrt_rare_remove(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING {
    hrt_node_disarm(queue, index, hrt_node_at(queue, index));
    hrt_slab_give(queue, index);
    return true;
}

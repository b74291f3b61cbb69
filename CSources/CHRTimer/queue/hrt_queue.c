// The queue: tokens and the rules of arming, over the slab, the lanes and the windows.
#include <errno.h>

#include "hrt_queue_parts.h"

int hrt_queue_create(hrt_queue **out_queue) {
    struct hrt_queue *queue = hrt_pages_map(sizeof *queue);
    if (queue == NULL) return -ENOMEM;
    hrt_lane_init(&queue->lane, 0);
    queue->armings = HRT_ARMED;
    queue->room_block = HRT_NO_BLOCK;
    *out_queue = queue;
    return 0;
}

void hrt_queue_destroy(hrt_queue *queue) {
    hrt_windows_free(queue);
    hrt_slab_free(queue);
    hrt_lane_release(&queue->lane);
    hrt_pages_unmap(queue, sizeof *queue);
}

// The node, in the wheel of the first lane or nowhere, is armed without tolerance. True.
static HRT_ON_PATH bool arm_filed(struct hrt_queue *queue, uint32_t slot, struct hrt_node *node, uint64_t key) {
    if (HRT_UNLIKELY(node->key == queue->lane.bound)) queue->lane.is_bound_stale = true;
    hrt_node_set_armed(queue, node, key);
    return HRT_UNLIKELY(hrt_lane_armed(&queue->lane, slot, node->place, key)) ? hrt_rare_file_listed(queue) : true;
}

int hrt_queue_add(hrt_queue *queue, hrt_token *out_token) {
    uint32_t index;
    int status = hrt_slab_take(queue, &index);
    if (status != 0) return status;
    *out_token = (hrt_token){.slot = index - 1, .generation = hrt_node_at(queue, index)->generation};
    return 0;
}

int hrt_queue_schedule(hrt_queue *queue, int64_t deadline_ns, int64_t tolerance_ns, hrt_token *out_token) {
    if (HRT_UNLIKELY(queue->spare_count == 0 || tolerance_ns > 0)) {
        return hrt_rare_schedule(queue, deadline_ns, tolerance_ns, out_token);
    }
    uint32_t slot = hrt_slab_take_spare(queue);
    struct hrt_node *node = hrt_node_of(queue, slot);
    *out_token = (hrt_token){.slot = slot, .generation = node->generation};
    uint64_t key = hrt_key(deadline_ns);
    if (HRT_UNLIKELY(node->place > HRT_NOWHERE)) return hrt_rare_arm_new(queue, slot + 1, key);
    queue->armed_count++;
    node->arming = ++queue->armings;
    node->key = key;
    bool is_list_full = hrt_lane_armed(&queue->lane, slot, node->place, key);
    return HRT_UNLIKELY(is_list_full) ? hrt_rare_file_listed_for_new(queue) : 0;
}

bool hrt_queue_is_live(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    return hrt_slab_node(queue, token) != NULL;
}

static HRT_ON_PATH bool remove_node(struct hrt_queue *queue, uint32_t slot, struct hrt_node *node) {
    if (HRT_UNLIKELY(node->place > HRT_NOWHERE || queue->spare_count == HRT_SPARES)) {
        return hrt_rare_remove(queue, slot + 1);
    }
    queue->armed_count += (node->arming < 1) - 1U;
    if (HRT_UNLIKELY(node->key == queue->lane.bound)) queue->lane.is_bound_stale = true;
    node->arming = 0;
    hrt_slab_give_spare(queue, slot, node);
    return true;
}

bool hrt_queue_remove(hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_slab_node(queue, token);
    return node != NULL && remove_node(queue, token.slot, node);
}

bool hrt_queue_arm(hrt_queue *queue, hrt_token token, int64_t deadline_ns, int64_t tolerance_ns) {
    struct hrt_node *node = hrt_slab_node(queue, token);
    if (node == NULL) return false;
    uint64_t key = hrt_key(deadline_ns);
    if (HRT_UNLIKELY(tolerance_ns > 0 || node->place > HRT_NOWHERE)) {
        return hrt_rare_arm(queue, token.slot + 1, key, tolerance_ns);
    }
    return arm_filed(queue, token.slot, node, key);
}

bool hrt_queue_disarm(hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    return hrt_slab_node(queue, token) != NULL && hrt_queue_disarm_slot(queue, token.slot);
}

bool hrt_queue_is_armed(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    return hrt_slab_node(queue, token) != NULL && hrt_queue_is_armed_slot(queue, token.slot);
}

int64_t hrt_queue_deadline_ns(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    return hrt_slab_node(queue, token) != NULL ? hrt_queue_deadline_ns_slot(queue, token.slot) : INT64_MAX;
}

void hrt_queue_arm_slot(hrt_queue *queue, uint32_t slot, int64_t deadline_ns) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_of(queue, slot);
    uint64_t key = hrt_key(deadline_ns);
    if (HRT_UNLIKELY(node->place > HRT_NOWHERE)) {
        hrt_rare_arm_exact(queue, slot + 1, key);
    } else {
        arm_filed(queue, slot, node, key);
    }
}

bool hrt_queue_disarm_slot(hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    return hrt_node_disarm(queue, slot + 1, hrt_node_at(queue, slot + 1));
}

void hrt_queue_remove_slot(hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    remove_node(queue, slot, hrt_node_of(queue, slot));
}

bool hrt_queue_is_armed_slot(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    return hrt_node_is_armed(hrt_node_at(queue, slot + 1));
}

int64_t hrt_queue_deadline_ns_slot(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    const struct hrt_node *node = hrt_node_at(queue, slot + 1);
    return hrt_node_is_armed(node) ? hrt_key_ns(node->key) : INT64_MAX;
}

int64_t hrt_queue_next_ns(hrt_queue *queue) HRT_NONBLOCKING {
    if (queue->armed_count == 0) return INT64_MAX;
    uint64_t bound = queue->lane.is_bound_stale ? hrt_lane_bound(queue, &queue->lane) : queue->lane.bound;
    if (HRT_UNLIKELY(queue->windows != NULL)) {
        uint64_t tolerant = hrt_lane_bound(queue, &queue->windows->lane);
        if (tolerant < bound) bound = tolerant;
    }
    return hrt_key_ns(bound);
}

int64_t hrt_queue_next_wake_ns(hrt_queue *queue) HRT_NONBLOCKING {
    if (queue->armed_count == 0) return INT64_MAX;
    uint64_t bound = hrt_lane_bound(queue, &queue->lane);
    if (queue->windows != NULL) {
        uint64_t end = hrt_windows_bound(queue);
        if (end < bound) bound = end;
        // The end of a window that was closed may linger, but no window ends before the first deadline.
        uint64_t next = hrt_key(hrt_queue_next_ns(queue));
        if (bound < next) bound = next;
    }
    return hrt_key_ns(bound);
}

// The first due node of both lanes; 0 if nothing is due, or if either lane ran out of moves before it knew.
static uint32_t first_due(struct hrt_queue *queue, uint64_t now_key, int *moves_left) {
    uint32_t first;
    if (!hrt_lane_due(queue, &queue->lane, now_key, moves_left, &first)) return 0;
    if (queue->windows == NULL) return first;
    uint32_t tolerant;
    if (!hrt_lane_due(queue, &queue->windows->lane, now_key, moves_left, &tolerant)) return 0;
    if (tolerant == 0) return first;
    if (first == 0 || hrt_node_is_before(hrt_node_at(queue, tolerant), hrt_node_at(queue, first))) return tolerant;
    return first;
}

size_t hrt_queue_take_due(hrt_queue *queue, int64_t now_ns, hrt_due *out_due, size_t capacity)
    HRT_NONBLOCKING {
    uint64_t now_key = hrt_key(now_ns);
    int moves_left = HRT_MOVES_PER_CALL;
    size_t taken = 0;
    uint32_t index;
    while ((index = first_due(queue, now_key, &moves_left)) != 0) {
        if (taken == capacity) break;
        struct hrt_node *node = hrt_node_at(queue, index);
        out_due[taken++] = (hrt_due){
            .deadline_ns = hrt_key_ns(node->key), .token = {.slot = index - 1, .generation = node->generation}};
        hrt_node_disarm(queue, index, node);
    }
    hrt_lane_told(&queue->lane, now_key);
    if (queue->windows != NULL) hrt_windows_told(queue, now_key, &moves_left);
    return taken;
}

bool hrt_queue_next_armed(const hrt_queue *queue, uint32_t *cursor, hrt_due *out_timer) HRT_NONBLOCKING {
    for (uint32_t index = *cursor + 1; index >> HRT_BLOCK_BITS < queue->blocks_used; index++) {
        uint32_t block = index >> HRT_BLOCK_BITS;
        if ((index & (HRT_BLOCK_NODES - 1)) >= queue->blocks[block].used) {
            index |= HRT_BLOCK_NODES - 1;
            continue;
        }
        const struct hrt_node *node = hrt_node_at(queue, index);
        if (!hrt_node_is_armed(node)) continue;
        *out_timer = (hrt_due){
            .deadline_ns = hrt_key_ns(node->key), .token = {.slot = index - 1, .generation = node->generation}};
        *cursor = index;
        return true;
    }
    return false;
}

void hrt_queue_clear(hrt_queue *queue) {
    uint32_t cursor = 0;
    hrt_due timer;
    while (hrt_queue_next_armed(queue, &cursor, &timer)) hrt_queue_disarm_slot(queue, timer.token.slot);
}

size_t hrt_queue_count(const hrt_queue *queue) HRT_NONBLOCKING { return queue->taken - queue->spare_count; }

size_t hrt_queue_armed_count(const hrt_queue *queue) HRT_NONBLOCKING { return queue->armed_count; }

size_t hrt_queue_memory_bytes(const hrt_queue *queue) {
    return hrt_pages_resident(queue, sizeof *queue) + hrt_slab_bytes(queue) + hrt_lane_heap_bytes(&queue->lane) +
           hrt_windows_bytes(queue);
}

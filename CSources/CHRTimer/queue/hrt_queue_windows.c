// Timers with tolerance. They have a lane of their own, by deadline, and each has a timer in a queue of window ends.
// The next wake-up is then the earlier of the first deadline without tolerance and the first end of a window; a queue
// without such timers pays a test of a pointer.
#include <errno.h>

#include "hrt_queue_parts.h"

static struct hrt_windows *windows_of(struct hrt_queue *queue) {
    if (queue->windows != NULL) return queue->windows;
    struct hrt_windows *windows = hrt_pages_map(sizeof *windows);
    if (windows == NULL) return NULL;
    if (hrt_queue_create(&windows->ends) != 0) {
        hrt_pages_unmap(windows, sizeof *windows);
        return NULL;
    }
    hrt_lane_init(&windows->lane, queue->lane.tick);
    windows->ends->lane.tick = queue->lane.tick;
    queue->windows = windows;
    if (hrt_windows_reserve(queue, queue->blocks_used) != 0) {
        hrt_windows_free(queue);
        return NULL;
    }
    return windows;
}

int hrt_windows_reserve(struct hrt_queue *queue, uint32_t blocks) {
    struct hrt_windows *windows = queue->windows;
    if (blocks <= windows->blocks) return 0;
    size_t old_bytes = (size_t)windows->blocks * HRT_BLOCK_NODES * sizeof(uint32_t);
    size_t bytes = (size_t)blocks * HRT_BLOCK_NODES * sizeof(uint32_t);
    if (hrt_lane_reserve(&windows->lane, blocks) != 0) return -ENOMEM;
    uint32_t *end_slots = hrt_pages_resize(windows->end_slots, old_bytes, bytes);
    if (end_slots == NULL) return -ENOMEM;
    windows->end_slots = end_slots;
    windows->blocks = blocks;
    return 0;
}

// Moves the node to the lane of timers with tolerance, if it is not there, and sets the end of its window. False if
// there is no memory for it; nothing has changed then.
bool hrt_windows_open(struct hrt_queue *queue, uint32_t index, uint64_t end) {
    struct hrt_windows *windows = windows_of(queue);
    if (windows == NULL) return false;
    struct hrt_node *node = hrt_node_at(queue, index);
    bool has_end = hrt_node_is_armed(node) && hrt_node_lane(node) != 0;
    if (!has_end) {
        hrt_token token;
        if (hrt_queue_add(windows->ends, &token) != 0) return false;
        windows->end_slots[index] = token.slot;
    }
    if (hrt_node_lane(node) == 0) {
        hrt_lane_unfile(queue, &queue->lane, index);
        node->place = HRT_NOWHERE | HRT_PLACE_LANE;
    }
    hrt_queue_arm_slot(windows->ends, windows->end_slots[index], hrt_key_ns(end));
    return true;
}

// The timer, armed with tolerance until now, is no longer.
void hrt_windows_close(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING {
    hrt_queue_remove_slot(queue->windows->ends, queue->windows->end_slots[index]);
}

// No window in which a timer is still armed ends before.
uint64_t hrt_windows_bound(struct hrt_queue *queue) HRT_NONBLOCKING {
    struct hrt_queue *ends = queue->windows->ends;
    return hrt_lane_bound(ends, &ends->lane);
}

// The ends of windows that were closed are filed still: this looks at those that time has reached.
void hrt_windows_told(struct hrt_queue *queue, uint64_t now_key, int *moves_left) HRT_NONBLOCKING {
    struct hrt_queue *ends = queue->windows->ends;
    hrt_lane_told(&queue->windows->lane, now_key);
    uint32_t ended;
    hrt_lane_due(ends, &ends->lane, now_key, moves_left, &ended);
    hrt_lane_told(&ends->lane, now_key);
}

void hrt_windows_free(struct hrt_queue *queue) {
    struct hrt_windows *windows = queue->windows;
    if (windows == NULL) return;
    hrt_queue_destroy(windows->ends);
    hrt_pages_unmap(windows->end_slots, (size_t)windows->blocks * HRT_BLOCK_NODES * sizeof(uint32_t));
    hrt_lane_release(&windows->lane);
    hrt_pages_unmap(windows, sizeof *windows);
    queue->windows = NULL;
}

size_t hrt_windows_bytes(const struct hrt_queue *queue) {
    const struct hrt_windows *windows = queue->windows;
    if (windows == NULL) return 0;
    return hrt_pages_resident(windows, sizeof *windows) + hrt_lane_heap_bytes(&windows->lane) +
           hrt_pages_resident(windows->end_slots, (size_t)windows->blocks * HRT_BLOCK_NODES * sizeof(uint32_t)) +
           hrt_queue_memory_bytes(windows->ends);
}

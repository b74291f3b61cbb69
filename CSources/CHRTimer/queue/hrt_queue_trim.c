#ifdef __linux__
// Gives memory back. Free nodes stay queued, so the nodes of an empty block are dequeued first,
// some in each call; then the block's memory is given back. At the end memory of the arrays beside
// the nodes, and of the empty levels of the wheels, is given back.
#include "hrt_queue_class.h"
#include "hrt_queue_slab.h"

enum {
    NODES_PER_CALL = 1024,
    LEAST_PEAK = 4096,  // below it a queue is small
    LEAST_CUT = 2048,   // nodes at the end of the first block: 64 KiB, the largest page size
};

bool hrt_queue_wants_trim(const hrt_queue *queue) HRT_NONBLOCKING {
    return queue->peak >= LEAST_PEAK && queue->taken - queue->spare_count <= queue->peak / 4;
}

static bool is_free(const struct hrt_node *node) {
    return (node->generation & 1) == 0 && node->generation != HRT_RETIRED;
}

static void dequeue(struct hrt_queue *queue, uint32_t index) {
    struct hrt_class *class = hrt_class_of(queue, hrt_node_at(queue, index));
    hrt_wheel_dequeue(queue, class, index);
}

static void trim_windows(struct hrt_queue *queue, uint32_t first, uint32_t end) {
    struct hrt_class *class = queue->classes[HRT_TOLERANT];
    if (class != NULL) hrt_windows_trim(queue, class, first, end);
}

static void empty_block(struct hrt_queue *queue, uint32_t number) {
    if (number != queue->trim_block) {
        queue->trim_block = number;
        queue->trim_index = 0;
    }
    uint32_t used = queue->blocks[number].used;
    uint32_t end =
        used - queue->trim_index > NODES_PER_CALL ? queue->trim_index + NODES_PER_CALL : used;
    for (; queue->trim_index < end; queue->trim_index++)
        dequeue(queue, number * HRT_BLOCK_NODES + queue->trim_index);
    if (end < used) return;
    trim_windows(queue, number * HRT_BLOCK_NODES, (number + 1) * HRT_BLOCK_NODES);
    hrt_slab_give_back(queue, number);
    queue->trim_block = 0;
    queue->trim_index = 0;
}

// Dequeues the free nodes from the end of the first block down to its last timer. trim_index is how
// far it has come. Slots that were used and freed between two calls may be queued again. Returns
// true if there is more to do.
static bool empty_first_block(struct hrt_queue *queue) {
    uint32_t used = queue->blocks_used == 0 ? 1 : queue->blocks[0].used;
    uint32_t index = queue->trim_index == 0 || queue->trim_index > used ? used : queue->trim_index;
    for (uint32_t above = index; above < used; above++) {
        if (!is_free(hrt_node_at(queue, above))) index = used;
    }
    uint32_t end = index > NODES_PER_CALL ? index - NODES_PER_CALL : 1;
    while (index > end && is_free(hrt_node_at(queue, index - 1))) dequeue(queue, --index);
    queue->trim_index = index;
    if (index == end && index > 1) return true;
    if (used - index >= LEAST_CUT) {
        for (uint32_t above = index; above < used; above++) dequeue(queue, above);
        hrt_slab_cut_first_block(queue, index);
        trim_windows(queue, index, HRT_BLOCK_NODES);
    }
    queue->trim_index = 0;
    return false;
}

bool hrt_queue_trim(hrt_queue *queue) {
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        if (queue->classes[number] == NULL) continue;
        hrt_wheel_enqueue_listed(queue, queue->classes[number]);
        queue->classes[number]->fetched = 0;
    }
    hrt_slab_spill(queue, queue->spare_count);
    bool goes_on = queue->trim_block != 0 && hrt_slab_is_empty_block(queue, queue->trim_block);
    uint32_t number = goes_on ? queue->trim_block : hrt_slab_empty_block(queue);
    if (number != 0) {
        empty_block(queue, number);
        return true;
    }
    if (queue->trim_block != 0) queue->trim_index = 0;
    queue->trim_block = 0;
    if (empty_first_block(queue)) return true;
    for (unsigned class = 0; class < HRT_CLASSES; class++) {
        if (queue->classes[class] != NULL) hrt_class_trim(queue->classes[class]);
    }
    queue->peak = queue->taken;
    return false;
}
#endif

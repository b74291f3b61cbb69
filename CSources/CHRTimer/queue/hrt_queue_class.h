// A per-class wheel: wheel, near tier and windows together. The caller passes in the time.
#ifndef HRT_QUEUE_CLASS_H
#define HRT_QUEUE_CLASS_H

#include "hrt_queue_wheel.h"

// Advances the present and returns true if nothing can be due by now_key and no bucket begins by
// then. Returns false otherwise.
static inline bool hrt_class_passes(struct hrt_class *class, uint64_t now_key) {
    uint64_t now_tick = now_key >> HRT_TICK_BITS;
    if (now_key >= class->bound || now_tick >= class->look_tick) return false;
    if (now_tick > class->tick) class->tick = now_tick;
    return true;
}

struct hrt_class *hrt_class_make(struct hrt_queue *queue, enum hrt_class_number number);
void hrt_class_init(struct hrt_class *class, enum hrt_class_number number, uint64_t tick);
int hrt_class_reserve(struct hrt_class *class, uint32_t blocks);
void hrt_class_release(struct hrt_class *class);
void hrt_class_trim(struct hrt_class *class);
size_t hrt_class_bytes(const struct hrt_class *class);
uint64_t hrt_class_bound(struct hrt_queue *queue, struct hrt_class *class) HRT_NONBLOCKING;
uint64_t hrt_class_wake(struct hrt_queue *queue, struct hrt_class *class) HRT_NONBLOCKING;
bool hrt_class_normalize(struct hrt_queue *queue, struct hrt_class *class,
                     int *moves_left) HRT_NONBLOCKING;
bool hrt_class_due(struct hrt_queue *queue, struct hrt_class *class, uint64_t now_key,
                   int *moves_left, uint32_t *out_first) HRT_NONBLOCKING;
void hrt_class_taken(struct hrt_class *class, uint64_t now_key, bool is_all_taken) HRT_NONBLOCKING;

// Arms, for the key, a node that is in the wheel or nowhere. The node stays where it is, or goes to
// the list of nodes to be queued. Returns true if that list is full and must be worked off.
//
// Which of the two happens is hard to predict, and the answer waits for the node, which may not be
// in the cache: a branch would be mispredicted every other time and discard the work begun
// meanwhile. So the code does not branch: it writes the node to the end of the list and adds 1 or 0
// to the count. The list is worked off when it is full or when an exact answer needs it; its nodes
// are in the cache by then.
static HRT_ON_PATH bool hrt_class_armed(struct hrt_class *class, uint32_t slot, uint32_t bucket,
                                       uint64_t key) {
    if (HRT_UNLIKELY(key < class->bound)) class->bound = key;
    class->to_queue[class->to_queue_count] = slot;
    class->to_queue_count += key < hrt_class_earliest(class, bucket);
    return class->to_queue_count == HRT_TO_QUEUE;
}

// Marks the class's bounds as stale if they came from this timer. The timer was armed, and is
// disarmed now or about to be armed again.
static inline void hrt_class_leaves(struct hrt_class *class, uint32_t index,
                                   const struct hrt_node *node) {
    if (node->key == class->bound) class->certainty = HRT_STALE;
    if (class->windows != NULL && index == class->windows->wake_index) class->certainty = HRT_STALE;
}

// Marks the node as armed for the key. Its slot is taken: `sequence` is 0 unless it is armed.
static HRT_ON_PATH void hrt_node_set_armed(struct hrt_queue *queue, struct hrt_node *node,
                                           uint64_t key) {
    queue->armed_count += node->sequence < 1;
    node->sequence = ++queue->last_sequence;
    node->key = key;
}

// Disarms the node; returns false if it was not armed. Dequeues it if it is in the near tier; in
// the wheel it stays queued.
static inline bool hrt_node_disarm(struct hrt_queue *queue, uint32_t index, struct hrt_node *node) {
    if (!hrt_node_is_armed(node)) return false;
    struct hrt_class *class = hrt_class_of(queue, node);
    queue->armed_count--;
    hrt_class_leaves(class, index, node);
    if (hrt_node_is_near(node)) hrt_near_dequeue(queue, class, index);
    node->sequence = 0;
    return true;
}

static inline hrt_due hrt_node_due(uint32_t index, const struct hrt_node *node) {
    return (hrt_due){.deadline_ns = hrt_key_ns(node->key),
                     .token = {.slot = index - 1, .generation = node->generation},
                     .sequence = node->sequence & ~HRT_ARMED};
}

#endif

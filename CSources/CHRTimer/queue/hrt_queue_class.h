// SPDX-License-Identifier: Apache-2.0
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
uint64_t hrt_class_bound(struct hrt_queue *queue, struct hrt_class *class) HRT_NONBLOCKING;
uint64_t hrt_class_wake(struct hrt_queue *queue, struct hrt_class *class) HRT_NONBLOCKING;
bool hrt_class_normalize(struct hrt_queue *queue, struct hrt_class *class,
                         int *moves_left) HRT_NONBLOCKING;
bool hrt_class_due(struct hrt_queue *queue, struct hrt_class *class, uint64_t now_key,
                   int *moves_left, uint32_t *out_first) HRT_NONBLOCKING;
void hrt_class_taken(struct hrt_class *class, uint64_t now_key, bool is_all_taken) HRT_NONBLOCKING;

// Marks the class's bounds as stale if they came from this timer. The timer was armed, and is
// disarmed now or about to be armed again.
static inline void hrt_class_leaves(struct hrt_class *class, uint32_t index,
                                    const struct hrt_node *node) {
    if (node->key == class->bound) class->certainty = HRT_STALE;
    if (class->windows != NULL && index == class->windows->wake_index) class->certainty = HRT_STALE;
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

static inline hrt_token hrt_node_token(uint32_t index, const struct hrt_node *node) {
    return (hrt_token){.slot = index - 1, .generation = node->generation};
}

#endif

// SPDX-License-Identifier: Apache-2.0
// The levels of a per-class wheel: nodes are queued by deadline, more coarsely the later they are
// due.
#ifndef HRT_QUEUE_WHEEL_H
#define HRT_QUEUE_WHEEL_H

#include "hrt_queue_near.h"

// A bucket that may hold the earliest node of the wheel.
struct hrt_wheel_first {
    uint32_t place;  // HRT_NOWHERE if the wheel is empty
    uint64_t key;    // no armed timer in the wheel has a lesser key
    bool is_exact;   // an armed timer has this key
};

// Clears the occupied bits of empty buckets, and gives back the memory of levels that are empty.
void hrt_wheel_trim(struct hrt_class *class);
bool hrt_wheel_next_tick(struct hrt_class *class, uint64_t *out_tick,
                         uint32_t *out_levels) HRT_NONBLOCKING;
struct hrt_wheel_first hrt_wheel_first(const struct hrt_queue *queue,
                                       struct hrt_class *class) HRT_NONBLOCKING;
void hrt_wheel_cascade(struct hrt_queue *queue, struct hrt_class *class,
                       int *moves_left) HRT_NONBLOCKING;
void hrt_wheel_look_into(struct hrt_queue *queue, struct hrt_class *class, uint32_t place,
                         uint64_t limit, int *moves_left) HRT_NONBLOCKING;
void hrt_wheel_spread(struct hrt_queue *queue, struct hrt_class *class,
                      int *moves_left) HRT_NONBLOCKING;

// Removes the node from where it is queued, if it is queued.
void hrt_wheel_dequeue(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING;
// Does the same and enqueues the node by its key in the given per-class wheel: in its wheel or its
// near tier.
void hrt_wheel_requeue(struct hrt_queue *queue, struct hrt_class *class,
                       uint32_t index) HRT_NONBLOCKING;

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_QUEUE_NEAR_H
#define HRT_QUEUE_NEAR_H

#include "hrt_queue_windows.h"

// The near tier. The run and the heap hold only armed nodes, so that the earlier of their first
// nodes is the next timer outside the wheel.
void hrt_near_enqueue(struct hrt_queue *queue, struct hrt_class *class,
                      uint32_t index) HRT_NONBLOCKING;
void hrt_near_enqueue_far(struct hrt_queue *queue, struct hrt_class *class,
                          uint32_t index) HRT_NONBLOCKING;
void hrt_near_dequeue(struct hrt_queue *queue, struct hrt_class *class,
                      uint32_t index) HRT_NONBLOCKING;

// Return the first node of the run and the heap, 0 if there is none; and its key, HRT_KEY_NEVER if
// there is none.
uint32_t hrt_near_first(const struct hrt_queue *queue,
                        const struct hrt_class *class) HRT_NONBLOCKING;
uint64_t hrt_near_key(const struct hrt_queue *queue, const struct hrt_class *class) HRT_NONBLOCKING;

#endif

#ifndef HRT_QUEUE_RARE_H
#define HRT_QUEUE_RARE_H

#include "hrt_queue_class.h"
#include "hrt_queue_slab.h"

// The rare cases of hrt_queue.c. Each returns the result of the function that ends in a call of it.
int hrt_rare_add(struct hrt_queue *queue, hrt_token *out_token);
int hrt_rare_schedule(struct hrt_queue *queue, int64_t deadline_ns, int64_t tolerance_ns,
                      hrt_token *out_token);
int hrt_rare_arm_new(struct hrt_queue *queue, uint32_t index, uint64_t key, int64_t tolerance_ns);
int hrt_rare_file_listed_for_new(struct hrt_queue *queue);
void hrt_rare_arm(struct hrt_queue *queue, uint32_t index, uint64_t key, int64_t tolerance_ns);
void hrt_rare_arm_ordinary(struct hrt_queue *queue, uint32_t index, uint64_t key) HRT_NONBLOCKING;
void hrt_rare_arm_precise(struct hrt_queue *queue, uint32_t index, uint64_t key);
void hrt_rare_file_listed(struct hrt_queue *queue) HRT_NONBLOCKING;
bool hrt_rare_remove(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING;
size_t hrt_rare_take_due(struct hrt_queue *queue, uint64_t now_key, hrt_due *out_due,
                         size_t capacity) HRT_NONBLOCKING;

#endif

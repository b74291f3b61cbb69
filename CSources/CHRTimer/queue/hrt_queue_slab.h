// Allocation of nodes.
#ifndef HRT_QUEUE_SLAB_H
#define HRT_QUEUE_SLAB_H

#include "hrt_queue_shape.h"

// Returns how many blocks will be in use after a refill: every per-class wheel must reserve room
// for them first.
uint32_t hrt_slab_blocks_wanted(const struct hrt_queue *queue);
// Makes one node spare. Returns 0, -ENOMEM or -ENOSPC.
int hrt_slab_refill(struct hrt_queue *queue);

void hrt_slab_spill(struct hrt_queue *queue, uint32_t count) HRT_NONBLOCKING;
void hrt_slab_free(struct hrt_queue *queue);
size_t hrt_slab_bytes(const struct hrt_queue *queue);

// For hrt_queue_trim: returns the lowest block, except the first, that has memory and no timer; 0
// if there is none.
uint32_t hrt_slab_empty_block(const struct hrt_queue *queue);
bool hrt_slab_is_empty_block(const struct hrt_queue *queue, uint32_t block);
void hrt_slab_give_back(struct hrt_queue *queue, uint32_t block);
// Cuts off the end of the first block, and gives its memory back: the nodes from `first` on, which
// must be free and not queued.
void hrt_slab_cut_first_block(struct hrt_queue *queue, uint32_t first);

// Takes the spare node that was given back last, which is in the cache. There must be one.
static inline uint32_t hrt_slab_take_spare(struct hrt_queue *queue) {
    uint32_t slot = queue->spares[--queue->spare_count];
    hrt_node_of(queue, slot)->generation++;
    return slot;
}

// Makes the node spare, or retires it. It must be disarmed, and `spares` must not be full.
static inline void hrt_slab_give_spare(struct hrt_queue *queue, uint32_t slot,
                                       struct hrt_node *node) {
    if (HRT_UNLIKELY(++node->generation == HRT_RETIRED)) {
        queue->taken--;
        return;
    }
    queue->spares[queue->spare_count++] = slot;
}

// Makes the node spare, and makes room in `spares` if needed. It must be disarmed. It stays queued.
static inline void hrt_slab_give(struct hrt_queue *queue, uint32_t index) {
    if (HRT_UNLIKELY(queue->spare_count == HRT_SPARES)) hrt_slab_spill(queue, HRT_SPARES / 2);
    hrt_slab_give_spare(queue, index - 1, hrt_node_at(queue, index));
}

// Returns NULL if the token is stale.
static HRT_ON_PATH struct hrt_node *hrt_slab_node(const struct hrt_queue *queue, hrt_token token) {
    if (HRT_UNLIKELY(token.slot >= queue->slots || (token.generation & 1) == 0)) return NULL;
    struct hrt_node *node = hrt_node_of(queue, token.slot);
    return node->generation == token.generation ? node : NULL;
}

#endif

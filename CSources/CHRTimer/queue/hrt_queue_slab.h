// SPDX-License-Identifier: Apache-2.0
// The slab: chunks of nodes and records, each with a list of its free nodes, and the memory of the
// whole queue.
#ifndef HRT_QUEUE_SLAB_H
#define HRT_QUEUE_SLAB_H

#include <stddef.h>

#include "hrt_queue_shape.h"

// Takes a free node of the lowest chunk that has one. Returns its index, -ENOMEM or -ENOSPC.
int hrt_slab_take_from_chunk(struct hrt_queue *queue);
void hrt_slab_give_to_chunk(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING;

// Takes a chunk from the list of those that have become empty, which must have one. Returns its
// number. It may have timers again.
uint32_t hrt_slab_take_listed_chunk(struct hrt_queue *queue);
// Gives back the memory of an empty chunk, of whose nodes none may be queued.
void hrt_slab_unmap_chunk(struct hrt_queue *queue, uint32_t number);

// Makes the heaps of a per-class wheel as large as the nodes of that many chunks need. Returns 0 or
// -ENOMEM.
int hrt_slab_resize_heaps(struct hrt_class *class, uint32_t chunks);
// Does the same, and gives back the pages that the heaps do not use now.
void hrt_slab_trim_heaps(struct hrt_class *class, uint32_t chunks);
void hrt_slab_free_heaps(struct hrt_class *class);

// Frees all chunks.
void hrt_slab_free(struct hrt_queue *queue);
// Returns the resident bytes of the chunks, and of the heaps of a per-class wheel.
size_t hrt_slab_bytes(const struct hrt_queue *queue);
size_t hrt_slab_heap_bytes(const struct hrt_class *class);

// Zeroed memory straight from the system, in whole pages: those never written take none. NULL if
// there is none.
void *hrt_slab_map(size_t bytes);
void hrt_slab_unmap(void *start, size_t bytes);
// Gives back the pages that lie wholly within start ... end: they read as zeroes or as before.
void hrt_slab_give_back_pages(void *start, void *end);
// Returns how many bytes are resident.
size_t hrt_slab_resident(const void *start, size_t bytes);

// Returns the node, or NULL if its chunk has no memory.
static inline struct hrt_node *hrt_slab_node_at(const struct hrt_queue *queue, uint32_t index) {
    uint32_t number = index >> HRT_CHUNK_BITS;
    if (number >= queue->chunk_count || queue->chunks[number].memory == NULL) return NULL;
    return hrt_node_at(queue, index);
}

// Returns NULL if the token is stale.
static inline struct hrt_node *hrt_slab_node(const struct hrt_queue *queue, hrt_token token) {
    if ((token.generation & 1) == 0) return NULL;
    // The greatest slot number has no index of its own: it becomes that of node 0, whose generation
    // is even.
    struct hrt_node *node = hrt_slab_node_at(queue, token.slot + 1);
    return node != NULL && node->generation == token.generation ? node : NULL;
}

// Takes the node that was given back last, or one of a chunk. Returns its index, -ENOMEM or
// -ENOSPC.
static inline int hrt_slab_take(struct hrt_queue *queue) {
    int index = queue->spare != 0 ? (int)queue->spare : hrt_slab_take_from_chunk(queue);
    if (index < 0) return index;
    queue->spare = 0;
    hrt_node_at(queue, (uint32_t)index)->generation++;
    if (++queue->count > queue->peak) queue->peak = queue->count;
    return index;
}

static inline void hrt_slab_give_spare(struct hrt_queue *queue) {
    if (queue->spare != 0) hrt_slab_give_to_chunk(queue, queue->spare);
    queue->spare = 0;
}

// Gives the node back. It must be disarmed; it stays queued. A retired node is never free again,
// and its chunk keeps its memory.
static inline void hrt_slab_give(struct hrt_queue *queue, uint32_t index) {
    queue->count--;
    if (++hrt_node_at(queue, index)->generation == HRT_RETIRED) return;
    hrt_slab_give_spare(queue);
    queue->spare = index;
}

#endif

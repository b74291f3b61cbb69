// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_QUEUE_NODE_H
#define HRT_QUEUE_NODE_H

// How a timer queue works.
//
// Every timer is a node in a slab. A node that was armed is *queued*: it is in a bucket of the
// wheel or in the near tier, which is a sorted list (the run) and a heap. The queue looks at a
// queued node at the instant of its bucket; the timer need not be due then. So disarming a timer,
// or arming it for no earlier instant, only writes to the node and leaves it where it is. When the
// queue looks at the node, it enqueues the node again or drops it. A node stays queued even while
// its slot is free, and the slot's next owner takes it over in that place. A timeout that is set,
// cancelled and set again is thus queued once in its length.
//
// The price is that the queue may look when nothing is due. Normalizing (hrt_class_normalize)
// avoids that. A bucket knows the node that its earliest key came from. If that node is gone, the
// queue walks the bucket if it has few nodes. If it has many (a crowd), the queue spreads them over
// finer buckets or, where those do not tell its nodes apart, over the heap, so that it never walks
// a crowd twice.
//
// The wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987) has five levels of
// 1,024 buckets. A bucket of level 0 is a tick of 2^16 ns, and each level is 1,024 times coarser
// than the one below. Levels rotate: level l holds the instants less than 1,024 of its buckets
// ahead of the present, whether aligned to a power of two or not, so that at most one bucket per
// level cascades at once. Nodes of level 0 cascade into the run, which is in exact order. A node
// that arrives there far out of order goes to the heap. The earlier head of the two is next. The
// exact order is that of (key, sequence) in the node, whichever way the node took through the
// wheel.
//
// All this is a per-class wheel, and a queue has one for each kind of timer: ordinary, precise, and
// with tolerance. The one with tolerance enqueues by deadline like the others; hrt_queue_windows.c
// says how it finds the earliest end of a window.
//
// Files include and call in one direction: queue -> class -> wheel -> near -> windows -> slab ->
// shape -> node.
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "../include/hrt_queue.h"

// Instants are kept as keys. A key is biased so that its unsigned order is the order of the signed
// instants, and so that shifts are defined.
#define HRT_KEY_NEVER UINT64_MAX

static inline uint64_t hrt_key(int64_t deadline_ns) {
    return (uint64_t)deadline_ns ^ (UINT64_C(1) << 63);
}
static inline int64_t hrt_key_ns(uint64_t key) { return (int64_t)(key ^ (UINT64_C(1) << 63)); }

// Set in `sequence` while the timer is armed. The other bits then hold the number of the arming,
// counted per queue, which orders equal deadlines.
#define HRT_ARMED (UINT64_C(1) << 63)

struct hrt_node {
    // The deadline. Kept when the timer is disarmed or removed, because the wheel may still have
    // the node queued by it.
    uint64_t key;
    // See HRT_ARMED; 0 if not armed. While the slot is free, the index of the next free node of its
    // chunk, or 0.
    uint64_t sequence;
    // Neighbours in a chain of the wheel, or in the run; 0 if there is none.
    uint32_t next;
    uint32_t previous;
    // Odd while the slot is taken, so that no token, even of another queue, matches a free slot.
    uint32_t generation;
    // Where it is queued: kind, class, and bucket or place in the heap.
    uint32_t place;
};
static_assert(sizeof(struct hrt_node) == 32, "two nodes fill a cache line");

// `place`: bits 31 and 30 are the kind, bits 29 and 28 the per-class wheel (see hrt_queue_shape.h),
// the rest an index. The kind of a node in a bucket is 0. A node that is not queued has the number
// after the last bucket.
#define HRT_PLACE_KIND (UINT32_C(3) << 30)
#define HRT_PLACE_CLASS_SHIFT 28
#define HRT_PLACE_CLASS (UINT32_C(3) << HRT_PLACE_CLASS_SHIFT)
#define HRT_PLACE_INDEX ((UINT32_C(1) << HRT_PLACE_CLASS_SHIFT) - 1)
#define HRT_NOWHERE UINT32_C(5120)
#define HRT_IN_RUN (UINT32_C(2) << 30)
#define HRT_IN_HEAP (UINT32_C(3) << 30)
#define HRT_IS_NEAR (UINT32_C(1) << 31)  // in the run or in the heap

// The generation of a slot that has used up all other generations.
#define HRT_RETIRED (UINT32_MAX - 1)

static inline bool hrt_node_is_armed(const struct hrt_node *node) {
    return (node->sequence & HRT_ARMED) != 0;
}
static inline bool hrt_node_is_near(const struct hrt_node *node) {
    return (node->place & HRT_IS_NEAR) != 0;
}
static inline bool hrt_node_is_queued(const struct hrt_node *node) {
    return (node->place & ~HRT_PLACE_CLASS) != HRT_NOWHERE;
}
static inline bool hrt_node_is_in_run(const struct hrt_node *node) {
    return (node->place & HRT_PLACE_KIND) == HRT_IN_RUN;
}

// Returns the bucket, or the place in the heap.
static inline uint32_t hrt_node_index(const struct hrt_node *node) {
    return node->place & HRT_PLACE_INDEX;
}

// Returns the bits of `place` that name the per-class wheel, unshifted.
static inline uint32_t hrt_node_class(const struct hrt_node *node) {
    return node->place & HRT_PLACE_CLASS;
}

// Sets the place: a bucket, HRT_NOWHERE, HRT_IN_RUN, or HRT_IN_HEAP and an index. The node's
// per-class wheel stays.
static inline void hrt_node_set_place(struct hrt_node *node, uint32_t place) {
    node->place = hrt_node_class(node) | place;
}

static inline bool hrt_node_is_before(const struct hrt_node *a, const struct hrt_node *b) {
    if (a->key != b->key) return a->key < b->key;
    return a->sequence < b->sequence;
}

#endif

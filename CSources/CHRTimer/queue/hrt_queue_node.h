#ifndef HRT_QUEUE_NODE_H
#define HRT_QUEUE_NODE_H

// The parts of a timer queue.
//
// Every timer is a node in a slab. A node that was armed is *filed*: in a bucket of the wheel, or
// near the present, in the run or the heap. A filing is a promise to look at the node at a certain
// instant, not a statement that something is due then. So disarming, and arming for any instant not
// before the promised look, change the node alone and leave it filed where it is; the look, when it
// comes, files the node again or drops it. A node keeps its filing even while its slot is free, and
// the slot's next owner gets it. A timeout that is set, cancelled and set again, as timeouts are,
// thus costs one cache line each time, and a filing only once in its length. The price: the queue
// may look at an instant when nothing is due. Normalizing (hrt_class_settle) avoids that: a bucket
// knows the node its earliest key came from; where that node is gone, a bucket of a few nodes is
// walked, and a crowd is filed finer, in finer buckets where the present allows and in the heap
// where it does not, so that no crowd is walked again and again.
//
// The wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels", 1987) has five levels of
// 1,024 buckets; a bucket of level 0 is a tick of 2^16 ns, and each level is 1,024 times coarser.
// Levels rotate: level l holds the instants less than 1,024 of its buckets ahead of the present,
// whatever power of two lies between, so that opening one bucket is the most that ever falls due at
// once. An opened bucket of level 0 goes to the run, a list in exact order; what arrives there far
// out of order goes to the heap, and the earlier of the two is next. Exact order is that of (key,
// arming) in the node, so it does not depend on the way a node took through the wheel.
//
// All this is a per-class wheel, and a queue has one for each kind of timer: ordinary, precise, and
// with tolerance. The last files by deadline like the others; hrt_queue_windows.c says how it finds
// the earliest end of a window.
//
// Files include and call one way: queue -> rare -> class -> wheel -> near -> windows -> node; slab
// and pages stand beside.
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "../include/hrt_queue.h"

#define HRT_UNLIKELY(condition) __builtin_expect((condition), 0)

// Among many timers each operation waits for a cache line, and the processor works at as many
// operations at once as it can hold the instructions of. So the common path is short and in one
// piece, does not branch on what it waits for, and ends in a jump to what is rare
// (hrt_queue_rare.c).
#define HRT_ON_PATH inline __attribute__((always_inline))

// Instants are kept as keys: biased, so that their unsigned order is that of the signed instants,
// and shifts are defined.
#define HRT_KEY_NEVER UINT64_MAX

static inline uint64_t hrt_key(int64_t deadline_ns) {
    return (uint64_t)deadline_ns ^ (UINT64_C(1) << 63);
}
static inline int64_t hrt_key_ns(uint64_t key) { return (int64_t)(key ^ (UINT64_C(1) << 63)); }

// Set in `arming` while the timer is armed; the rest is then the number of the arming, the order of
// equal deadlines.
#define HRT_ARMED (UINT64_C(1) << 63)

// Half a cache line: the generation, the order and the links are there once the deadline is.
struct hrt_node {
    uint64_t key;  // the deadline; kept when the timer is disarmed or removed, as the filing refers
                   // to it
    uint64_t
        arming;     // see HRT_ARMED; while the slot is free, the next free node of its block, or 0
    uint32_t next;  // neighbours in a chain of the wheel, or in the run; 0 is none
    uint32_t previous;
    uint32_t generation;  // odd while the slot is taken: no token matches a free one, nor does one
                          // of another queue
    uint32_t place;       // where it is filed: kind, class, and bucket or place in the heap
};
static_assert(sizeof(struct hrt_node) == 32,
              "two nodes share a cache line, and no node lies in two");

// `place`: bits 31 and 30 the kind, bits 29 and 28 the per-class wheel (see hrt_queue_shape.h), the
// rest an index. A place in the wheel of the first per-class wheel, the common one, is thus a plain
// number of a bucket. The number after the last bucket is for a node that is not filed. No filing
// is as late as none: such a node is to be filed like one that is filed too late, so that one
// comparison tells both from all that is rare.
#define HRT_PLACE_KIND (UINT32_C(3) << 30)
#define HRT_PLACE_LANE_SHIFT 28
#define HRT_PLACE_LANE (UINT32_C(3) << HRT_PLACE_LANE_SHIFT)
#define HRT_PLACE_INDEX ((UINT32_C(1) << HRT_PLACE_LANE_SHIFT) - 1)
#define HRT_NOWHERE UINT32_C(5120)
#define HRT_IN_RUN (UINT32_C(2) << 30)
#define HRT_IN_HEAP (UINT32_C(3) << 30)
#define HRT_IS_NEAR (UINT32_C(1) << 31)  // in the run or in the heap

// The generation of a slot whose others are used up.
#define HRT_RETIRED (UINT32_MAX - 1)

static inline bool hrt_node_is_armed(const struct hrt_node *node) {
    return (node->arming & HRT_ARMED) != 0;
}
static inline bool hrt_node_is_near(const struct hrt_node *node) {
    return (node->place & HRT_IS_NEAR) != 0;
}
static inline bool hrt_node_is_filed(const struct hrt_node *node) {
    return (node->place & ~HRT_PLACE_LANE) != HRT_NOWHERE;
}
static inline bool hrt_node_is_in_run(const struct hrt_node *node) {
    return (node->place & HRT_PLACE_KIND) == HRT_IN_RUN;
}
static inline uint32_t hrt_node_index(const struct hrt_node *node) {
    return node->place & HRT_PLACE_INDEX;
}

// The bits of the per-class wheel, in their place.
static inline uint32_t hrt_node_class(const struct hrt_node *node) {
    return node->place & HRT_PLACE_LANE;
}

// A bucket, HRT_NOWHERE, HRT_IN_RUN, or HRT_IN_HEAP and an index. The per-class wheel stays.
static inline void hrt_node_set_place(struct hrt_node *node, uint32_t place) {
    node->place = hrt_node_class(node) | place;
}

static inline bool hrt_node_is_before(const struct hrt_node *a, const struct hrt_node *b) {
    if (a->key != b->key) return a->key < b->key;
    return a->arming < b->arming;
}

#endif

// The structures of a queue. The functions of each part are in its own header: slab, windows, near
// tier, wheel, per-class wheel, and the rare cases. Each header includes only those before it.
#ifndef HRT_QUEUE_SHAPE_H
#define HRT_QUEUE_SHAPE_H

#include "hrt_queue_node.h"
#include "hrt_queue_room.h"

enum {
    HRT_TICK_BITS = 16,
    HRT_LEVEL_BITS = 10,
    HRT_BUCKETS = 1 << HRT_LEVEL_BITS,
    HRT_LEVELS = 5,
    HRT_CHAINS = 8,
    HRT_WHEEL_PLACES = HRT_LEVELS * HRT_BUCKETS,
    HRT_SPARES = 64,
    HRT_TO_QUEUE = 32,
    HRT_OCCUPIED_WORDS = HRT_BUCKETS / 64,
    HRT_BLOCKS = 1 << (HRT_PLACE_CLASS_SHIFT - HRT_BLOCK_BITS),
};

// A queue has a per-class wheel for each kind of deadline. The ordinary one is part of the queue;
// the others are made when the first timer of their kind is armed. A timer belongs to the per-class
// wheel in which it was armed last.
enum hrt_class_number {
    HRT_ORDINARY,
    HRT_PRECISE,
    HRT_TOLERANT,
    HRT_CLASSES,
};

#define HRT_NO_BLOCK UINT32_MAX
static_assert(HRT_NOWHERE == HRT_WHEEL_PLACES, "nowhere is the place after the last bucket");
static_assert(HRT_TICK_BITS + HRT_LEVELS * HRT_LEVEL_BITS >= 64, "the levels cover every instant");

// First in, first out: timers that were armed in order of deadline come out in that order.
struct hrt_chain {
    uint32_t first;
    uint32_t last;
};

// A node's chain follows from its index. There are several chains because each link of one is a
// cache miss that must end before the next can begin, while the misses of different chains overlap.
struct hrt_bucket {
    struct hrt_chain chains[HRT_CHAINS];
};
static_assert(sizeof(struct hrt_bucket) == 64, "a bucket is a cache line");

struct hrt_level {
    uint64_t occupied[HRT_OCCUPIED_WORDS];  // bit per bucket with nodes; may be set for a bucket
                                            // that has become empty
    uint32_t occupied_words;  // bit per word of `occupied` that is not 0
};

// What is known about `bound`, the earliest armed key of a per-class wheel.
enum hrt_certainty {
    HRT_EXACT,  // an armed timer has this key
    HRT_LOWER,  // no armed timer has a lesser key; only walking a bucket can raise the bound
    HRT_STALE,  // time went on, or the timer that the bound came from was disarmed or moved: the
                // bound can perhaps be raised without a walk
};

struct hrt_window_end {
    uint64_t end;
    uint32_t index;
};

struct hrt_windows {
    uint64_t wake;  // no armed timer's window ends before this; as certain as the bound of the
                    // per-class wheel
    uint32_t wake_index;  // the node that `wake` came from
    uint32_t count;
    struct hrt_room end_of;    // `keys`, by node: the end of its latest window
    struct hrt_room entry_of;  // `indices`, by node: its index in `heap`, if it is in there
    struct hrt_room heap;      // `ends` of every near node, and of some that were near
};

// Nodes queued by deadline: a wheel, a run and a heap.
struct hrt_class {
    uint64_t tick;  // the present, in ticks: all buckets up to it have cascaded or are cascading
    uint64_t look_tick;  // no occupied bucket beyond the present begins before this tick; it is the
                         // present while a bucket cascades
    uint64_t bound;      // no armed key is less; HRT_KEY_NEVER if none is armed
    uint64_t never;      // HRT_KEY_NEVER, see hrt_class_earliest
    uint8_t certainty;   // of the bound, and of the earliest end of a window: an hrt_certainty
    uint8_t cascading;   // bit per level whose bucket at `tick` is not yet empty: the run is
                         // incomplete until this is 0
    uint32_t base;       // the bits of this per-class wheel in a node's place
    uint32_t crowd;      // a bucket whose nodes are being spread, or HRT_NOWHERE
    uint32_t to_queue_count;
    uint32_t to_queue[HRT_TO_QUEUE];  // slots that may be queued too late, or not at all: see
                                    // hrt_class_armed
    uint32_t near_count;
    uint32_t run_first;
    uint32_t run_last;
    uint32_t fetched;  // the last node of the run that was prefetched; 0 for none. A hint: the
                       // node may have left the run
    uint32_t heap_count;
    struct hrt_room heap;         // `indices`
    struct hrt_windows *windows;  // NULL except in the per-class wheel of timers with tolerance
    struct hrt_level levels[HRT_LEVELS];
    // By place: a lower bound of the keys in the bucket, not before the bucket begins. Kept apart
    // from the chains, so that the bounds of a minute's buckets fill a few cache lines: arming
    // mostly reads only these.
    uint64_t earliest[HRT_WHEEL_PLACES];
    uint32_t owners[HRT_WHEEL_PLACES];  // the node that `earliest` came from; it may have gone or
                                        // moved since
    struct hrt_bucket buckets[HRT_WHEEL_PLACES] __attribute__((aligned(64)));
};

struct hrt_block {
    uint32_t first_free;  // the list of removed nodes, the one removed last first
    uint32_t used;        // nodes ever given out; 0 if the block's memory was given back
    uint32_t live;        // nodes given out now, spare, or retired
    uint32_t
        generation_floor;  // even; a node given out for the first time takes the next generation
};

struct hrt_queue {
    struct hrt_node *nodes;  // one array of blocks that come and go: finding a node takes no table
    uint32_t slots;          // slots in the blocks below blocks_used
    uint64_t last_sequence;  // sequence of the latest arming, with HRT_ARMED set
    uint32_t taken;          // number of timers and of spare nodes
    uint32_t armed_count;
    uint32_t blocks_used;         // blocks at and above this index have no memory
    uint32_t spare_count;         // free nodes that were not yet returned to their blocks
    uint32_t spares[HRT_SPARES];  // their slots
    uint32_t peak;                // the largest `taken` since the last trimming ended
    uint32_t trim_block;          // the block whose nodes are being dequeued, and how far
    uint32_t trim_index;
    struct hrt_class
        *classes[HRT_CLASSES];     // the first is `class`; the others are NULL until needed
    uint32_t room_block;       // the lowest block that has memory and a free node, or HRT_NO_BLOCK
    uint32_t blocks_reserved;  // number of blocks with reserved addresses
    struct hrt_class class;  // for timers that are neither precise nor tolerant; its first fields
                             // share a page with the ones above
    struct hrt_block blocks[HRT_BLOCKS];
};

// Returns a lower bound of the keys at a place of the wheel. At HRT_NOWHERE it is HRT_KEY_NEVER,
// without a look into the table, which is pages away. There is no branch, which would be hard to
// predict: only the address differs.
static HRT_ON_PATH uint64_t hrt_class_earliest(const struct hrt_class *class, uint32_t place) {
    const uint64_t *earliest = place == HRT_NOWHERE ? &class->never : class->earliest + place;
    return *earliest;
}

// Node 0 does not exist, so that 0 can end a list: the node of a slot has the index slot + 1.
static inline struct hrt_node *hrt_node_at(const struct hrt_queue *queue, uint32_t index) {
    return queue->nodes + index;
}

static inline struct hrt_node *hrt_node_of(const struct hrt_queue *queue, uint32_t slot) {
    return queue->nodes + slot + 1;
}

// Returns the per-class wheel in which the node is queued, or in which it was armed last.
static inline struct hrt_class *hrt_class_of(struct hrt_queue *queue, const struct hrt_node *node) {
    return queue->classes[hrt_node_class(node) >> HRT_PLACE_CLASS_SHIFT];
}

// How many nodes one call may enqueue again; this limits the pause that a full bucket causes.
// Fuzzing lowers it, so that a few nodes already exceed one call.
#ifndef HRT_MOVES_PER_CALL
#define HRT_MOVES_PER_CALL 1024
#endif

#endif

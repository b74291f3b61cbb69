// SPDX-License-Identifier: Apache-2.0
// The structures of a queue. The functions of each part are in its own header: slab, windows, near
// tier, wheel and per-class wheel. Each header includes only those before it.
#ifndef HRT_QUEUE_SHAPE_H
#define HRT_QUEUE_SHAPE_H

#include "hrt_queue_node.h"

// Fuzzing lowers both, so that a few timers already exceed one call, and fill and empty chunks.
#ifndef HRT_MOVES_PER_CALL
#define HRT_MOVES_PER_CALL 1024  // nodes that one call may enqueue again: a bound of its duration
#endif
#ifndef HRT_CHUNK_BITS
#define HRT_CHUNK_BITS 11  // 2,048 nodes are 64 KiB, the largest page of a kernel
#endif

enum {
    HRT_TICK_BITS = 16,
    HRT_LEVEL_BITS = 10,
    HRT_BUCKETS = 1 << HRT_LEVEL_BITS,
    HRT_LEVELS = 5,
    HRT_CHAINS = 8,
    HRT_WHEEL_PLACES = HRT_LEVELS * HRT_BUCKETS,
    HRT_OCCUPIED_WORDS = HRT_BUCKETS / 64,
    HRT_CHUNK_NODES = 1 << HRT_CHUNK_BITS,
    HRT_CHUNKS = 1 << (HRT_PLACE_CLASS_SHIFT - HRT_CHUNK_BITS),
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

struct hrt_level {
    uint64_t occupied[HRT_OCCUPIED_WORDS];  // bit per bucket with nodes; may be set for a bucket
                                            // that has become empty
    uint32_t occupied_words;                // bit per word of `occupied` that is not 0
};

// What is known about `bound`, the earliest armed key of a per-class wheel.
enum hrt_certainty {
    HRT_EXACT,  // an armed timer has this key
    HRT_LOWER,  // no armed timer has a lesser key; only walking a bucket can raise the bound
    HRT_STALE,  // time went on, or the timer that the bound came from was disarmed or moved: the
                // bound can perhaps be raised without a walk
};

// An array with an element for every node of the chunks in memory, so that enqueueing never
// allocates. Its pages take no memory until they are used.
struct hrt_room {
    union {
        void *start;
        uint32_t *indices;
        struct hrt_window_end *ends;
    };
    uint32_t chunks;  // for whose nodes there is room
};

struct hrt_window_end {
    uint64_t end;
    uint32_t index;
};

// The windows of the timers with tolerance.
struct hrt_windows {
    uint64_t wake;        // no armed timer's window ends before this; as certain as the bound of
                          // the per-class wheel
    uint32_t wake_index;  // the node that `wake` came from
    uint32_t count;
    struct hrt_room heap;  // `ends` of every near node, and of some that were near
};

// Nodes queued by deadline: a wheel, a run and a heap.
struct hrt_class {
    uint64_t tick;  // the present, in ticks: all buckets up to it have cascaded or are cascading
    uint64_t look_tick;  // no occupied bucket beyond the present begins before this tick; it is the
                         // present while a bucket cascades
    uint64_t bound;      // no armed key is less; HRT_KEY_NEVER if none is armed
    enum hrt_certainty certainty;  // of the bound, and of the earliest end of a window
    uint32_t cascading;  // bit per level whose bucket at `tick` is not yet empty: the run is
                         // incomplete until this is 0
    uint32_t base;       // the bits of this per-class wheel in a node's place
    uint32_t crowd;      // a bucket whose nodes are being spread, or HRT_NOWHERE
    uint32_t near_count;
    uint32_t run_first;
    uint32_t run_last;
    uint32_t heap_count;
    struct hrt_room heap;         // `indices`
    struct hrt_windows *windows;  // NULL except in the per-class wheel of timers with tolerance
    struct hrt_level levels[HRT_LEVELS];
    // By place: a lower bound of the keys in the bucket, not before the bucket begins. Kept apart
    // from the chains: arming mostly reads only these.
    uint64_t earliest[HRT_WHEEL_PLACES];
    uint32_t owners[HRT_WHEEL_PLACES];  // the node that `earliest` came from; it may have gone or
                                        // moved since
    struct hrt_bucket buckets[HRT_WHEEL_PLACES];
};

// The memory of a chunk's slots. The pages of the arrays about windows take none unless the slots
// have had timers with tolerance.
struct hrt_chunk_memory {
    struct hrt_node nodes[HRT_CHUNK_NODES];
    uint64_t window_ends[HRT_CHUNK_NODES];     // the end of the node's latest window
    uint32_t window_entries[HRT_CHUNK_NODES];  // its place in the heap of ends, if it is in there
    _Alignas(HRT_RECORD_ALIGNMENT) unsigned char records[];  // hrt_queue.record_bytes for each node
};

struct hrt_chunk {
    struct hrt_chunk_memory *memory;  // NULL if it was given back
    uint32_t first_free;              // the list of removed nodes, the one removed last first
    uint32_t used;                    // nodes given out since the chunk has its memory
    uint32_t live;                    // nodes given out now, spare, or retired
    uint32_t generation_floor;  // even; a node given out for the first time takes the next one
    uint32_t next_empty;        // see hrt_queue.first_empty
    bool is_listed;
};

struct hrt_queue {
    size_t record_bytes;       // of the caller's record in each slot
    struct hrt_chunk *chunks;  // by number
    uint32_t chunk_count;      // elements of `chunks`
    uint32_t mapped_count;     // chunks that have memory
    uint32_t first_empty;  // the list of chunks that have become empty, 0 at its end; some may have
                           // timers again. The first chunk is never listed: its memory stays
    uint32_t room_chunk;   // the lowest chunk that is not full; it may have no memory
    uint32_t spare;  // the node that was given back last: still live in its chunk, and the next to
                     // be given out; 0 for none
    uint32_t count;  // timers that exist
    uint32_t armed_count;
    uint32_t peak;                           // the largest `count` since the last trimming ended
    uint64_t last_sequence;                  // of the latest arming, with HRT_ARMED set
    struct hrt_class *classes[HRT_CLASSES];  // the first is `class`; the others NULL until needed
    struct hrt_windows windows;
    struct hrt_class class;          // for timers that are neither precise nor tolerant
    uint64_t full[HRT_CHUNKS / 64];  // bit per chunk without a free node
};

// Node 0 does not exist, so that 0 can end a list: the node of a slot has the index slot + 1. Its
// chunk must have memory.
static inline struct hrt_node *hrt_node_at(const struct hrt_queue *queue, uint32_t index) {
    return &queue->chunks[index >> HRT_CHUNK_BITS].memory->nodes[index % HRT_CHUNK_NODES];
}

// Returns the per-class wheel in which the node is queued, or in which it was armed last.
static inline struct hrt_class *hrt_class_of(const struct hrt_queue *queue,
                                             const struct hrt_node *node) {
    return queue->classes[hrt_node_class(node) >> HRT_PLACE_CLASS_SHIFT];
}

#endif

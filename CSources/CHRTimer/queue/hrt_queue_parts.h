#ifndef HRT_QUEUE_PARTS_H
#define HRT_QUEUE_PARTS_H

#include "hrt_queue_node.h"

enum {
    HRT_TICK_BITS = 16,
    HRT_LEVEL_BITS = 10,
    HRT_BUCKETS = 1 << HRT_LEVEL_BITS,
    HRT_LEVELS = 5,
    HRT_CHAINS = 8,
    HRT_WHEEL_PLACES = HRT_LEVELS * HRT_BUCKETS,
    HRT_SPARES = 64,
    HRT_TO_FILE = 32,
    HRT_MARK_WORDS = HRT_BUCKETS / 64,
    HRT_BLOCK_BITS = 16,
    HRT_BLOCK_NODES = 1 << HRT_BLOCK_BITS,
    HRT_BLOCKS = 1 << (HRT_PLACE_LANE_SHIFT - HRT_BLOCK_BITS),
};

// A queue has a lane for each kind of deadline, made when the first timer of the kind is armed. A
// timer belongs to the lane it was armed in last.
enum hrt_lane_number {
    HRT_ORDINARY,
    HRT_PRECISE,
    HRT_TOLERANT,
    HRT_LANES,
};

#define HRT_NO_BLOCK UINT32_MAX
static_assert(HRT_NOWHERE == HRT_WHEEL_PLACES, "nowhere is the place after the last bucket");
static_assert(HRT_TICK_BITS + HRT_LEVELS * HRT_LEVEL_BITS >= 64, "the levels cover every instant");

// First in, first out, so that timers armed in order of deadline come out in order.
struct hrt_chain {
    uint32_t first;
    uint32_t last;
};

// A node's chain follows from its index. Several chains, because each link of one is a cache miss
// that must end before the next can begin, while those of different chains overlap.
struct hrt_bucket {
    struct hrt_chain chains[HRT_CHAINS];
};
static_assert(sizeof(struct hrt_bucket) == 64, "a bucket is a cache line");

struct hrt_level {
    uint64_t marks[HRT_MARK_WORDS];  // a bucket that holds a node is marked; one that is marked may
                                     // be empty
    uint32_t marked_words;           // bit per word of marks that is not 0
};

// What is known of the earliest armed key of a lane, `bound`.
enum hrt_certainty {
    HRT_EXACT,  // an armed timer has this key
    HRT_LOWER,  // none has a lesser one, and only a walk over a bucket tells more
    HRT_STALE,  // time went on, or the timer it came from is no longer there: it can perhaps be
                // raised at once
};

struct hrt_windows;

// An array with a place for every node of the slab, so that filing never allocates. Not touched
// until it is used.
struct hrt_room {
    union {
        void *start;
        uint32_t *indices;
        uint64_t *keys;
        struct hrt_window_end *ends;
    };
    uint32_t blocks;  // of nodes
};

// Nodes filed by deadline: a wheel, a run and a heap.
struct hrt_lane {
    uint64_t tick;  // the present, in ticks: all buckets up to this one are opened, or being opened
    uint64_t look_tick;  // no marked bucket beyond the present begins before; while one is opened
                         // it is the present
    uint64_t bound;      // no armed key is less; HRT_KEY_NEVER if none is armed
    uint8_t certainty;   // of the bound, and of the earliest end of a window: an hrt_certainty
    uint8_t opening;     // bit per level whose bucket at `tick` is not yet empty: the run is
                         // incomplete until 0
    uint32_t base;       // the lane's bits in a node's place
    uint32_t crowd;      // a bucket whose nodes are being filed finer, or HRT_NOWHERE
    uint32_t to_file_count;
    uint32_t to_file[HRT_TO_FILE];  // slots that may be filed too late, or not at all: see
                                    // hrt_lane_armed
    uint32_t near_count;
    uint32_t run_first;
    uint32_t run_last;
    uint32_t heap_count;
    struct hrt_room heap;         // `indices`
    struct hrt_windows *windows;  // NULL but in the lane of timers with tolerance
    struct hrt_level levels[HRT_LEVELS];
    // By place. No key of a timer filed in the bucket is less, and none is before the bucket
    // begins. Apart from the chains, so that those of a minute's buckets are a few cache lines:
    // whoever arms looks here, and mostly here alone. Nowhere, the last place, it is HRT_KEY_NEVER.
    uint64_t earliest[HRT_WHEEL_PLACES + 1];
    uint32_t owners[HRT_WHEEL_PLACES +
                    1];  // the node that `earliest` came from; it may have gone or moved since
    struct hrt_bucket buckets[HRT_WHEEL_PLACES] __attribute__((aligned(64)));
};

struct hrt_block {
    uint32_t first_free;  // the nodes removed, last first
    uint32_t used;        // nodes ever given out; 0 if the block's memory was given back
    uint32_t live;        // nodes given out now, spare, or retired
    uint32_t
        generation_floor;  // even; a node given out for the first time takes the next generation
};

struct hrt_queue {
    struct hrt_node *nodes;  // one array, in blocks that come and go: a node is found by adding
    uint32_t slots;          // those of the blocks below blocks_used
    uint64_t armings;        // with HRT_ARMED, as a node has it
    uint32_t taken;          // timers, and spare nodes
    uint32_t armed_count;
    uint32_t blocks_used;         // blocks at and above this index have no memory
    uint32_t spare_count;         // free nodes that were not yet returned to their blocks
    uint32_t spares[HRT_SPARES];  // their slots
    uint32_t peak;                // the most timers since the queue was trimmed to the end
    uint32_t trim_block;          // the block that is being emptied of filings, and how far
    uint32_t trim_index;
    struct hrt_lane
        *lanes[HRT_LANES];     // the first is `lane`; the others are NULL until they are needed
    uint32_t room_block;       // the lowest block that has memory and a free node, or HRT_NO_BLOCK
    uint32_t blocks_reserved;  // how many blocks there are addresses for
    struct hrt_block blocks[HRT_BLOCKS];
    struct hrt_lane lane;  // of timers that are neither precise nor tolerant
};

// Node 0 does not exist, so that 0 can end a list: the node of a slot is slot + 1.
static inline struct hrt_node *hrt_node_at(const struct hrt_queue *queue, uint32_t index) {
    return queue->nodes + index;
}

static inline struct hrt_node *hrt_node_of(const struct hrt_queue *queue, uint32_t slot) {
    return queue->nodes + slot + 1;
}

// Pages (hrt_queue_pages.c). NULL if there is no memory; what is to be resized stays as it was
// then.
void *hrt_pages_map(size_t bytes);
void *hrt_pages_map_aligned(size_t bytes, size_t alignment);
bool hrt_pages_extend(void *start, size_t old_bytes, size_t bytes);
void *hrt_pages_grow_aligned(void *start, size_t old_bytes, size_t bytes, size_t alignment);
void hrt_pages_give_back(void *start, size_t bytes);
void *hrt_pages_resize(void *start, size_t old_bytes, size_t bytes);
void hrt_pages_unmap(void *start, size_t bytes);
size_t hrt_pages_resident(const void *start, size_t bytes);

// The pages that lie within start ... end wholly: what was there reads as zeroes.
void hrt_pages_give_back_within(void *start, void *end);

// Rooms. 0 or -ENOMEM; what was there stays.
int hrt_room_reserve(struct hrt_room *room, uint32_t blocks, size_t bytes_per_node);
void hrt_room_release(struct hrt_room *room, size_t bytes_per_node);
size_t hrt_room_bytes(const struct hrt_room *room, size_t bytes_per_node);
// What belongs to the nodes first ... before end.
void hrt_room_give_back(struct hrt_room *room, size_t bytes_per_node, uint32_t first, uint32_t end);

// Slab (hrt_queue_slab.c)
int hrt_slab_refill(struct hrt_queue *queue);
void hrt_slab_spill(struct hrt_queue *queue, uint32_t count) HRT_NONBLOCKING;
void hrt_slab_free(struct hrt_queue *queue);
size_t hrt_slab_bytes(const struct hrt_queue *queue);

// For hrt_queue_trim: the lowest block but the first that has memory and no timer; 0 if there is
// none.
uint32_t hrt_slab_empty_block(const struct hrt_queue *queue);
bool hrt_slab_is_empty_block(const struct hrt_queue *queue, uint32_t block);
void hrt_slab_give_back(struct hrt_queue *queue, uint32_t block);
// The nodes at the end of the first block, from `first` on, are free and not filed.
void hrt_slab_cut_first_block(struct hrt_queue *queue, uint32_t first);

// There must be one: the node given back last, which is in the cache.
static inline uint32_t hrt_slab_take_spare(struct hrt_queue *queue) {
    uint32_t slot = queue->spares[--queue->spare_count];
    hrt_node_of(queue, slot)->generation++;
    return slot;
}

// A node for a new timer: a spare one, or the next of the lowest block with room. 0, -ENOMEM or
// -ENOSPC.
static inline int hrt_slab_take(struct hrt_queue *queue, uint32_t *out_index) {
    if (queue->spare_count == 0) {
        int status = hrt_slab_refill(queue);
        if (status != 0) return status;
    }
    *out_index = hrt_slab_take_spare(queue) + 1;
    return 0;
}

// The node must be disarmed, and there must be room for it.
static inline void hrt_slab_give_spare(struct hrt_queue *queue, uint32_t slot,
                                       struct hrt_node *node) {
    if (HRT_UNLIKELY(++node->generation == HRT_RETIRED)) {
        queue->taken--;
        return;
    }
    queue->spares[queue->spare_count++] = slot;
}

// The node must be disarmed. It keeps its filing.
static inline void hrt_slab_give(struct hrt_queue *queue, uint32_t index) {
    if (HRT_UNLIKELY(queue->spare_count == HRT_SPARES)) hrt_slab_spill(queue, HRT_SPARES / 2);
    hrt_slab_give_spare(queue, index - 1, hrt_node_at(queue, index));
}

// NULL if the token is stale.
static HRT_ON_PATH struct hrt_node *hrt_slab_node(const struct hrt_queue *queue, hrt_token token) {
    if (HRT_UNLIKELY(token.slot >= queue->slots || (token.generation & 1) == 0)) return NULL;
    struct hrt_node *node = hrt_node_of(queue, token.slot);
    return node->generation == token.generation ? node : NULL;
}

// Near tier (hrt_queue_near.c): the run and the heap hold armed nodes only, so that the first of
// them is the next timer of all that are not in the wheel.
void hrt_near_file(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t index) HRT_NONBLOCKING;
void hrt_near_file_far(struct hrt_queue *queue, struct hrt_lane *lane,
                       uint32_t index) HRT_NONBLOCKING;
void hrt_near_unfile(struct hrt_queue *queue, struct hrt_lane *lane,
                     uint32_t index) HRT_NONBLOCKING;

// The first node of the run or the heap, 0 if there is none; and its key, HRT_KEY_NEVER if there is
// none.
uint32_t hrt_near_first(const struct hrt_queue *queue, const struct hrt_lane *lane) HRT_NONBLOCKING;
uint64_t hrt_near_key(const struct hrt_queue *queue, const struct hrt_lane *lane) HRT_NONBLOCKING;

// Windows (hrt_queue_windows.c)
struct hrt_window_end {
    uint64_t end;
    uint32_t index;
};

struct hrt_windows {
    uint64_t wake;  // no window in which a timer is armed ends before; of the same certainty as the
                    // lane's bound
    uint32_t wake_index;  // the node it came from
    uint32_t count;
    struct hrt_room end_of;    // `keys` by node: the end of its last arming with tolerance
    struct hrt_room entry_of;  // `indices` by node: where it stands in `heap`, if it stands there
    struct hrt_room heap;      // `ends`: of every node that is near, and of some that no longer are
};
struct hrt_windows *hrt_windows_create(void);
void hrt_windows_destroy(struct hrt_windows *windows);
int hrt_windows_reserve(struct hrt_windows *windows, uint32_t blocks);
size_t hrt_windows_bytes(const struct hrt_windows *windows);
void hrt_windows_trim(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t first, uint32_t end);
void hrt_windows_put(struct hrt_windows *windows, uint32_t index) HRT_NONBLOCKING;
uint64_t hrt_windows_end(struct hrt_queue *queue, struct hrt_lane *lane,
                         int *moves_left) HRT_NONBLOCKING;

// Wheel (hrt_queue_wheel.c)

// A bucket that may hold the earliest node of the wheel.
struct hrt_wheel_first {
    uint32_t place;  // HRT_NOWHERE if the wheel is empty
    uint64_t key;    // no armed timer in the wheel has a lesser one
    bool is_exact;   // one has it
};

// Clears the marks of empty buckets, and gives back the memory of levels without others.
void hrt_wheel_trim(struct hrt_lane *lane);
void hrt_wheel_file_listed(struct hrt_queue *queue, struct hrt_lane *lane) HRT_NONBLOCKING;
bool hrt_wheel_next_tick(struct hrt_lane *lane, uint64_t *out_tick,
                         uint8_t *out_levels) HRT_NONBLOCKING;
struct hrt_wheel_first hrt_wheel_first(const struct hrt_queue *queue,
                                       struct hrt_lane *lane) HRT_NONBLOCKING;
void hrt_wheel_open(struct hrt_queue *queue, struct hrt_lane *lane,
                    int *moves_left) HRT_NONBLOCKING;
void hrt_wheel_look_into(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t place,
                         uint64_t limit, int *moves_left) HRT_NONBLOCKING;
void hrt_wheel_spread(struct hrt_queue *queue, struct hrt_lane *lane,
                      int *moves_left) HRT_NONBLOCKING;

// Files the node, which must not be filed, by its key: in the wheel, or near the present. Takes it
// from where it is filed, if it is. Does the one after the other.
void hrt_wheel_file(struct hrt_queue *queue, struct hrt_lane *lane, uint32_t index) HRT_NONBLOCKING;
void hrt_wheel_unfile(struct hrt_queue *queue, struct hrt_lane *lane,
                      uint32_t index) HRT_NONBLOCKING;
void hrt_wheel_refile(struct hrt_queue *queue, struct hrt_lane *lane,
                      uint32_t index) HRT_NONBLOCKING;

// Whether the look promised by a filing in the bucket comes no later than the key.
static inline bool hrt_wheel_looks_by(const struct hrt_lane *lane, uint32_t bucket, uint64_t key) {
    uint32_t level_shift = (bucket >> HRT_LEVEL_BITS) * HRT_LEVEL_BITS;
    uint64_t level_tick = lane->tick >> level_shift;
    uint64_t ahead = (bucket - level_tick) & (HRT_BUCKETS - 1);
    return key >> HRT_TICK_BITS >= lane->tick &&
           (key >> HRT_TICK_BITS >> level_shift) - level_tick >= ahead;
}

// Lane (hrt_queue_lane.c)

// How many nodes one call may file anew: the pause a crowded bucket causes. Fuzzing lowers it, so
// that a few nodes are a crowd.
#ifndef HRT_MOVES_PER_CALL
#define HRT_MOVES_PER_CALL 1024
#endif

// Moves time on, and is done, if nothing can be due by then and no bucket begins.
static inline bool hrt_lane_passes(struct hrt_lane *lane, uint64_t now_key) {
    uint64_t now_tick = now_key >> HRT_TICK_BITS;
    if (now_key >= lane->bound || now_tick >= lane->look_tick) return false;
    if (now_tick > lane->tick) lane->tick = now_tick;
    return true;
}

struct hrt_lane *hrt_lane_make(struct hrt_queue *queue, enum hrt_lane_number number);
void hrt_lane_init(struct hrt_lane *lane, enum hrt_lane_number number, uint64_t tick);
int hrt_lane_reserve(struct hrt_lane *lane, uint32_t blocks);
void hrt_lane_release(struct hrt_lane *lane);
void hrt_lane_trim(struct hrt_lane *lane);
size_t hrt_lane_bytes(const struct hrt_lane *lane);
uint64_t hrt_lane_bound(struct hrt_queue *queue, struct hrt_lane *lane) HRT_NONBLOCKING;
uint64_t hrt_lane_wake(struct hrt_queue *queue, struct hrt_lane *lane) HRT_NONBLOCKING;
bool hrt_lane_settle(struct hrt_queue *queue, struct hrt_lane *lane,
                     int *moves_left) HRT_NONBLOCKING;
bool hrt_lane_due(struct hrt_queue *queue, struct hrt_lane *lane, uint64_t now_key, int *moves_left,
                  uint32_t *out_first) HRT_NONBLOCKING;
void hrt_lane_told(struct hrt_lane *lane, uint64_t now_key, bool is_served) HRT_NONBLOCKING;

// A node in the wheel or nowhere is armed for the key: its filing serves, or it is to be filed
// anew. True if the list of those must now be worked off.
//
// Which of the two is a toss-up, and its outcome waits for the node, which may not be in the cache:
// a branch would cost a misprediction every other time, and with it all that the processor began
// meanwhile. So nothing branches on it. The node is written to the end of the list, which grows by
// one or does not. The list is worked off when it is full or in the way; its nodes are in the cache
// by then.
static HRT_ON_PATH bool hrt_lane_armed(struct hrt_lane *lane, uint32_t slot, uint32_t bucket,
                                       uint64_t key) {
    if (HRT_UNLIKELY(key < lane->bound)) lane->bound = key;
    lane->to_file[lane->to_file_count] = slot;
    lane->to_file_count += key < lane->earliest[bucket];
    return lane->to_file_count == HRT_TO_FILE;
}

// The timer, which was armed, is armed no longer, or is about to be armed anew.
static inline void hrt_lane_leaves(struct hrt_lane *lane, uint32_t index,
                                   const struct hrt_node *node) {
    if (node->key == lane->bound) lane->certainty = HRT_STALE;
    if (lane->windows != NULL && index == lane->windows->wake_index) lane->certainty = HRT_STALE;
}

// The node is armed in the lane of timers with tolerance, or is about to be.
static inline void hrt_windows_open(struct hrt_windows *windows, uint32_t index, uint64_t end) {
    windows->end_of.keys[index] = end;
    if (HRT_UNLIKELY(end < windows->wake)) {
        windows->wake = end;
        windows->wake_index = index;
    }
}

// `wake` is known exactly: the end that stands first, or none.
static inline void hrt_windows_settled(struct hrt_windows *windows, uint64_t wake) {
    windows->wake = wake;
    windows->wake_index = windows->count == 0 ? 0 : windows->heap.ends[0].index;
}

static inline uint64_t hrt_window_end(uint64_t key, int64_t tolerance_ns) {
    uint64_t end;
    return __builtin_add_overflow(key, (uint64_t)tolerance_ns, &end) ? HRT_KEY_NEVER : end;
}

static inline struct hrt_lane *hrt_lane_of(struct hrt_queue *queue, const struct hrt_node *node) {
    return queue->lanes[hrt_node_lane(node) >> HRT_PLACE_LANE_SHIFT];
}

// The node is taken: `arming` is 0 unless it is armed.
static HRT_ON_PATH void hrt_node_set_armed(struct hrt_queue *queue, struct hrt_node *node,
                                           uint64_t key) {
    queue->armed_count += node->arming < 1;
    node->arming = ++queue->armings;
    node->key = key;
}

// In the near tier that ends the filing, in the wheel it does not.
static inline bool hrt_node_disarm(struct hrt_queue *queue, uint32_t index, struct hrt_node *node) {
    if (!hrt_node_is_armed(node)) return false;
    struct hrt_lane *lane = hrt_lane_of(queue, node);
    queue->armed_count--;
    hrt_lane_leaves(lane, index, node);
    if (hrt_node_is_near(node)) hrt_near_unfile(queue, lane, index);
    node->arming = 0;
    return true;
}

static inline hrt_due hrt_node_due(uint32_t index, const struct hrt_node *node) {
    return (hrt_due){.deadline_ns = hrt_key_ns(node->key),
                     .token = {.slot = index - 1, .generation = node->generation},
                     .arming = node->arming & ~HRT_ARMED};
}

// Apart from the common paths (hrt_queue_rare.c). Each returns what the path that ends in it does.
int hrt_rare_schedule(struct hrt_queue *queue, int64_t deadline_ns, int64_t tolerance_ns,
                      hrt_token *out_token);
int hrt_rare_arm_new(struct hrt_queue *queue, uint32_t index, uint64_t key, int64_t tolerance_ns);
int hrt_rare_file_listed_for_new(struct hrt_queue *queue);
bool hrt_rare_arm(struct hrt_queue *queue, uint32_t index, uint64_t key, int64_t tolerance_ns);
bool hrt_rare_arm_ordinary(struct hrt_queue *queue, uint32_t index, uint64_t key) HRT_NONBLOCKING;
bool hrt_rare_arm_precise(struct hrt_queue *queue, uint32_t index, uint64_t key);
bool hrt_rare_file_listed(struct hrt_queue *queue) HRT_NONBLOCKING;
bool hrt_rare_remove(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING;
void hrt_rare_put_back(struct hrt_queue *queue, uint32_t index, uint64_t key,
                       uint64_t arming) HRT_NONBLOCKING;
size_t hrt_rare_take_due(struct hrt_queue *queue, uint64_t now_key, hrt_due *out_due,
                         size_t capacity) HRT_NONBLOCKING;

#endif

// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// The wheel: levels of buckets. Each bucket has a few chains of nodes, each level a bit per bucket.
#include "hrt_queue_wheel.h"

// A bucket with more nodes is a crowd: its nodes are spread over finer places, so that they are not
// walked again for each search of the earliest node.
enum { CROWD = 32 };

static unsigned level_shift(unsigned level) { return level * HRT_LEVEL_BITS; }

static struct hrt_chain *chain_of(struct hrt_bucket *bucket, uint32_t index) {
    return &bucket->chains[index % HRT_CHAINS];
}

static struct hrt_bucket *bucket_at(struct hrt_class *class, unsigned level, uint64_t level_tick) {
    return &class->buckets[level * HRT_BUCKETS + (level_tick & (HRT_BUCKETS - 1))];
}

static bool is_empty(const struct hrt_bucket *bucket) {
    uint32_t any = 0;
    for (unsigned i = 0; i < HRT_CHAINS; i++) any |= bucket->chains[i].first;
    return any == 0;
}

static bool is_occupied(const struct hrt_level *level, uint32_t bucket) {
    return (level->occupied[bucket / 64] >> (bucket % 64) & 1) != 0;
}

static void set_occupied(struct hrt_level *level, uint32_t bucket) {
    level->occupied[bucket / 64] |= UINT64_C(1) << (bucket % 64);
    level->occupied_words |= 1U << (bucket / 64);
}

static void clear_occupied(struct hrt_level *level, uint32_t bucket) {
    uint64_t occupied = level->occupied[bucket / 64] &= ~(UINT64_C(1) << (bucket % 64));
    if (occupied == 0) level->occupied_words &= ~(1U << (bucket / 64));
}

// Returns the bucket of the finest level that reaches the key, which must lie beyond the present
// tick. Mostly it is in one of the two finest levels.
static inline uint32_t place_for(const struct hrt_class *class, uint64_t key) {
    uint64_t tick = key >> HRT_TICK_BITS;
    uint64_t present = class->tick;
    assert(tick > present);
    uint32_t level = 0;
    while (tick - present >= HRT_BUCKETS) {
        tick >>= HRT_LEVEL_BITS;
        present >>= HRT_LEVEL_BITS;
        level++;
    }
    return level * HRT_BUCKETS + (tick & (HRT_BUCKETS - 1));
}

static inline void set_earliest(struct hrt_class *class, uint32_t place, uint32_t index,
                                uint64_t key) {
    class->earliest[place] = key;
    class->owners[place] = index;
}

// Links the node into a bucket.
static void link_at(struct hrt_queue *queue, struct hrt_class *class, uint32_t index,
                    struct hrt_node *node, uint32_t place) {
    struct hrt_level *level = &class->levels[place / HRT_BUCKETS];
    struct hrt_chain *chain = chain_of(&class->buckets[place], index);
    uint32_t last = 0;
    if (!is_occupied(level, place % HRT_BUCKETS)) {
        assert(is_empty(&class->buckets[place]));
        set_occupied(level, place % HRT_BUCKETS);
        set_earliest(class, place, index, node->key);
        unsigned shift = level_shift(place / HRT_BUCKETS);
        uint64_t begin = node->key >> HRT_TICK_BITS >> shift << shift;
        if (begin < class->look_tick) class->look_tick = begin;
    } else {
        if (node->key < class->earliest[place]) set_earliest(class, place, index, node->key);
        last = chain->last;
    }
    node->next = 0;
    node->previous = last;
    *(last != 0 ? &hrt_node_at(queue, last)->next : &chain->first) = index;
    chain->last = index;
    hrt_node_set_place(node, place);
}

static void unlink(struct hrt_queue *queue, struct hrt_class *class, uint32_t index,
                   const struct hrt_node *node) {
    struct hrt_chain *chain = chain_of(&class->buckets[hrt_node_index(node)], index);
    uint32_t next = node->next;
    uint32_t previous = node->previous;
    *(previous != 0 ? &hrt_node_at(queue, previous)->next : &chain->first) = next;
    *(next != 0 ? &hrt_node_at(queue, next)->previous : &chain->last) = previous;
}

// Returns whether a node that is armed for the key goes to the near tier: if it is due in the
// present tick, or if few timers are armed and it is due within a second, because a few are sorted
// at once and need no wheel. Later nodes do not go there: if a crowd followed, all of it would be
// sorted in before them until they are due.
static inline bool is_near(const struct hrt_queue *queue, const struct hrt_class *class,
                           uint64_t key) {
    enum { FEW = 4, SECOND = 1 << 14 };  // in ticks, 1.07 s
    uint64_t tick = key >> HRT_TICK_BITS;
    return tick <= class->tick || (queue->armed_count <= FEW && tick - class->tick < SECOND);
}

// Enqueues the node by its key, in the wheel or the near tier. It must not be queued.
static void enqueue_by_key(struct hrt_queue *queue, struct hrt_class *class, uint32_t index) {
    struct hrt_node *node = hrt_node_at(queue, index);
    assert(!hrt_node_is_queued(node));
    if (node->key == HRT_KEY_NEVER) return;  // armed, but never due
    if (is_near(queue, class, node->key)) {
        hrt_near_enqueue(queue, class, index);
    } else {
        link_at(queue, class, index, node, place_for(class, node->key));
    }
}

// The bucket's occupied bit stays set, even if the bucket is empty now: otherwise arming and
// disarming one timer would set and clear it each time. The next search that finds the bucket empty
// clears the bit.
void hrt_wheel_dequeue(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_at(queue, index);
    struct hrt_class *class = hrt_class_of(queue, node);
    if (hrt_node_is_near(node)) {
        hrt_near_dequeue(queue, class, index);
    } else if (hrt_node_is_queued(node)) {
        unlink(queue, class, index, node);
        hrt_node_set_place(node, HRT_NOWHERE);
    }
}

void hrt_wheel_requeue(struct hrt_queue *queue, struct hrt_class *class,
                       uint32_t index) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_at(queue, index);
    struct hrt_class *former = hrt_class_of(queue, node);
    if (former != class) former->certainty = HRT_STALE;  // its bound may have come from the node
    hrt_wheel_dequeue(queue, index);
    node->place = class->base | HRT_NOWHERE;
    enqueue_by_key(queue, class, index);
}

// Returns the distance from bucket `from` to the first occupied one, wrapping around; -1 if none.
static int distance_to_occupied(const struct hrt_level *level, uint32_t from) {
    uint32_t word = from / 64;
    uint64_t occupied = level->occupied[word] >> (from % 64);
    if (occupied != 0) return __builtin_ctzll(occupied);
    // Bit k of `words` stands for word + 1 + k. Its last bit stands for the word of `from`, for the
    // bits of that word before `from`.
    uint32_t both = level->occupied_words | level->occupied_words << HRT_OCCUPIED_WORDS;
    uint32_t words = both >> (word + 1) & ((1U << HRT_OCCUPIED_WORDS) - 1);
    if (words == 0) return -1;
    uint32_t found = (word + 1 + (uint32_t)__builtin_ctz(words)) % HRT_OCCUPIED_WORDS;
    uint32_t bucket = found * 64 + (uint32_t)__builtin_ctzll(level->occupied[found]);
    return (int)((bucket - from) % HRT_BUCKETS);
}

// Returns the first bucket of the level after the present that holds a node, NULL if there is none,
// and writes the level's tick at which it begins.
static struct hrt_bucket *first_bucket(struct hrt_class *class, unsigned number,
                                       uint64_t *out_level_tick) {
    struct hrt_level *level = &class->levels[number];
    if (level->occupied_words == 0) return NULL;
    uint64_t after = (class->tick >> level_shift(number)) + 1;
    int distance;
    while ((distance = distance_to_occupied(level, after & (HRT_BUCKETS - 1))) >= 0) {
        uint64_t level_tick = after + (uint64_t)distance;
        struct hrt_bucket *bucket = bucket_at(class, number, level_tick);
        if (!is_empty(bucket)) {
            *out_level_tick = level_tick;
            return bucket;
        }
        clear_occupied(level, level_tick & (HRT_BUCKETS - 1));
    }
    return NULL;
}

// Finds the next tick at which a bucket that holds a node begins, and a bit for each level that has
// such a bucket: buckets of several levels can begin together. No bucket of a level begins before
// the level's present one ends, so mostly the finest level decides.
bool hrt_wheel_next_tick(struct hrt_class *class, uint64_t *out_tick,
                         uint32_t *out_levels) HRT_NONBLOCKING {
    *out_tick = UINT64_MAX;
    for (unsigned level = 0; level < HRT_LEVELS; level++) {
        uint64_t level_tick = (class->tick >> level_shift(level)) + 1;
        if (*out_tick < level_tick << level_shift(level)) break;
        if (first_bucket(class, level, &level_tick) == NULL) continue;
        uint64_t tick = level_tick << level_shift(level);
        if (tick > *out_tick) continue;
        if (tick < *out_tick) *out_levels = 0;
        *out_tick = tick;
        *out_levels |= 1U << level;
    }
    return *out_tick != UINT64_MAX;
}

// Returns, of the first buckets of all levels, the one with the least lower bound. If the first
// bucket of a level cannot begin before the key found so far, that level and all coarser ones are
// skipped.
struct hrt_wheel_first hrt_wheel_first(const struct hrt_queue *queue,
                                       struct hrt_class *class) HRT_NONBLOCKING {
    struct hrt_wheel_first first = {.place = HRT_NOWHERE, .key = HRT_KEY_NEVER};
    for (unsigned level = 0; level < HRT_LEVELS; level++) {
        uint64_t level_tick = (class->tick >> level_shift(level)) + 1;
        if (first.key >> HRT_TICK_BITS < level_tick << level_shift(level)) break;
        const struct hrt_bucket *bucket = first_bucket(class, level, &level_tick);
        if (bucket == NULL) continue;
        uint32_t place = (uint32_t)(bucket - class->buckets);
        if (class->earliest[place] >= first.key) continue;
        first = (struct hrt_wheel_first){.place = place, .key = class->earliest[place]};
    }
    if (first.place != HRT_NOWHERE) {
        const struct hrt_node *owner = hrt_slab_node_at(queue, class->owners[first.place]);
        first.is_exact = owner != NULL && hrt_node_is_armed(owner) && owner->key == first.key &&
                         hrt_node_class(owner) == class->base;
    }
    return first;
}

// Returns the tick at which the bucket begins. It must not be the present bucket of its level.
static uint64_t begin_of(const struct hrt_class *class, uint32_t place) {
    unsigned shift = level_shift(place / HRT_BUCKETS);
    uint64_t level_tick = class->tick >> shift;
    return (level_tick + ((place - level_tick) & (HRT_BUCKETS - 1))) << shift;
}

// Enqueues or drops a node that was taken out of its bucket and is in no chain any more.
static void enqueue_seen(struct hrt_queue *queue, struct hrt_class *class, uint32_t index,
                         struct hrt_node *node) {
    hrt_node_set_place(node, HRT_NOWHERE);
    if (hrt_node_is_armed(node)) enqueue_by_key(queue, class, index);
}

// Makes the bucket's `earliest` exact: drops and moves the nodes that are not due in it. In the
// per-class wheel of timers with tolerance, nodes with keys below the limit go to the near tier,
// which compares the ends of windows. A crowd is only noted.
void hrt_wheel_look_into(struct hrt_queue *queue, struct hrt_class *class, uint32_t place,
                         uint64_t limit, int *moves_left) HRT_NONBLOCKING {
    unsigned shift = level_shift(place / HRT_BUCKETS);
    uint64_t level_tick = begin_of(class, place) >> shift;
    uint32_t nodes[CROWD];
    unsigned count = 0;
    for (unsigned i = 0; i < HRT_CHAINS; i++) {
        for (uint32_t index = class->buckets[place].chains[i].first; index != 0;) {
            if (count == CROWD) {
                class->crowd = place;
                return;
            }
            nodes[count++] = index;
            index = hrt_node_at(queue, index)->next;
        }
    }
    *moves_left -= (int)count;
    class->earliest[place] = HRT_KEY_NEVER;
    for (unsigned i = 0; i < count; i++) {
        struct hrt_node *node = hrt_node_at(queue, nodes[i]);
        if (!hrt_node_is_armed(node) || node->key >> HRT_TICK_BITS >> shift != level_tick) {
            unlink(queue, class, nodes[i], node);
            enqueue_seen(queue, class, nodes[i], node);
        } else if (class->windows != NULL && node->key < limit) {
            hrt_wheel_dequeue(queue, nodes[i]);
            hrt_near_enqueue(queue, class, nodes[i]);
        } else if (node->key < class->earliest[place]) {
            set_earliest(class, place, nodes[i], node->key);
        }
    }
}

// Takes one node off every chain in turn: the next node of a chain is in the cache by the time the
// other chains have been served.
static bool take_round(struct hrt_queue *queue, struct hrt_class *class, struct hrt_bucket *bucket,
                       int *moves_left) {
    uint32_t left = 0;
    for (unsigned i = 0; i < HRT_CHAINS; i++) {
        struct hrt_chain *chain = &bucket->chains[i];
        uint32_t index = chain->first;
        if (index == 0) continue;
        struct hrt_node *node = hrt_node_at(queue, index);
        unlink(queue, class, index, node);
        left |= chain->first;
        enqueue_seen(queue, class, index, node);
        --*moves_left;
    }
    return left != 0;
}

// Nodes that finer levels of the wheel can tell apart by now go there. The rest of the crowd goes
// to the near tier, which finds the earliest without a walk. So this happens to a node at most once
// per level.
static void enqueue_from_crowd(struct hrt_queue *queue, struct hrt_class *class, uint32_t index,
                               struct hrt_node *node) {
    bool is_apart = !hrt_node_is_armed(node) || node->key >> HRT_TICK_BITS <= class->tick ||
                    place_for(class, node->key) != class->crowd;
    if (is_apart) {
        enqueue_seen(queue, class, index, node);
        return;
    }
    hrt_node_set_place(node, HRT_NOWHERE);
    if (class->crowd < HRT_BUCKETS) {
        hrt_near_enqueue(queue, class, index);
    } else {
        hrt_near_enqueue_far(queue, class, index);
    }
}

void hrt_wheel_spread(struct hrt_queue *queue, struct hrt_class *class,
                      int *moves_left) HRT_NONBLOCKING {
    struct hrt_bucket *bucket = &class->buckets[class->crowd];
    while (!is_empty(bucket)) {
        if (*moves_left <= 0) return;
        for (unsigned i = 0; i < HRT_CHAINS; i++) {
            uint32_t index = bucket->chains[i].first;
            if (index == 0) continue;
            struct hrt_node *node = hrt_node_at(queue, index);
            unlink(queue, class, index, node);
            enqueue_from_crowd(queue, class, index, node);
            --*moves_left;
        }
    }
    class->crowd = HRT_NOWHERE;
}

void hrt_wheel_cascade(struct hrt_queue *queue, struct hrt_class *class,
                       int *moves_left) HRT_NONBLOCKING {
    while (class->cascading != 0) {
        unsigned number = (unsigned)__builtin_ctz(class->cascading);
        uint64_t level_tick = class->tick >> level_shift(number);
        do {
            if (*moves_left <= 0) return;
        } while (take_round(queue, class, bucket_at(class, number, level_tick), moves_left));
        clear_occupied(&class->levels[number], level_tick & (HRT_BUCKETS - 1));
        class->cascading &= ~(1U << number);
    }
}

void hrt_wheel_trim(struct hrt_class *class) {
    for (unsigned number = 0; number < HRT_LEVELS; number++) {
        struct hrt_level *level = &class->levels[number];
        uint32_t first = number * HRT_BUCKETS;
        for (uint32_t bucket = 0; bucket < HRT_BUCKETS; bucket++) {
            if (is_occupied(level, bucket) && is_empty(&class->buckets[first + bucket]))
                clear_occupied(level, bucket);
        }
        if (level->occupied_words != 0) continue;
        hrt_slab_give_back_pages(class->earliest + first, class->earliest + first + HRT_BUCKETS);
        hrt_slab_give_back_pages(class->owners + first, class->owners + first + HRT_BUCKETS);
        hrt_slab_give_back_pages(class->buckets + first, class->buckets + first + HRT_BUCKETS);
    }
}
#endif

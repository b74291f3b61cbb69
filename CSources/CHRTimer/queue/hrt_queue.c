// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// The queue: tokens, the rules of arming, and what the per-class wheels find together.
#include <errno.h>

#include "hrt_queue_class.h"

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

int hrt_queue_create(size_t record_bytes, hrt_queue **out_queue) {
    struct hrt_queue *queue = hrt_slab_map(sizeof *queue);
    if (queue == NULL) return -ENOMEM;
    queue->record_bytes = record_bytes;
    hrt_class_init(&queue->class, HRT_ORDINARY, 0);
    queue->classes[HRT_ORDINARY] = &queue->class;
    queue->windows.wake = HRT_KEY_NEVER;
    queue->last_sequence = HRT_ARMED;
    *out_queue = queue;
    return 0;
}

void hrt_queue_destroy(hrt_queue *queue) {
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        struct hrt_class *class = queue->classes[number];
        if (class == NULL) continue;
        hrt_slab_free_heaps(class);
        if (class != &queue->class) hrt_slab_unmap(class, sizeof *class);
    }
    hrt_slab_free(queue);
    hrt_slab_unmap(queue, sizeof *queue);
}

// Timers.

int hrt_queue_add(hrt_queue *queue, hrt_token *out_token) {
    int index = hrt_slab_take(queue);
    if (index < 0) return index;
    *out_token = hrt_node_token((uint32_t)index, hrt_node_at(queue, (uint32_t)index));
    return 0;
}

bool hrt_queue_remove(hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_slab_node(queue, token);
    if (node == NULL) return false;
    hrt_node_disarm(queue, token.slot + 1, node);
    hrt_slab_give(queue, token.slot + 1);
    return true;
}

bool hrt_queue_is_live(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    return hrt_slab_node(queue, token) != NULL;
}

bool hrt_queue_is_armed(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    const struct hrt_node *node = hrt_slab_node(queue, token);
    return node != NULL && hrt_node_is_armed(node);
}

size_t hrt_queue_count(const hrt_queue *queue) HRT_NONBLOCKING { return queue->count; }

void *hrt_queue_record(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    uint32_t index = slot + 1;
    return &queue->chunks[index >> HRT_CHUNK_BITS]
                .memory->records[index % HRT_CHUNK_NODES * queue->record_bytes];
}

uint32_t hrt_queue_next_slot(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    uint32_t index = slot + 1;
    while (index >> HRT_CHUNK_BITS < queue->chunk_count) {
        const struct hrt_chunk *chunk = &queue->chunks[index >> HRT_CHUNK_BITS];
        if (chunk->live == 0 || index % HRT_CHUNK_NODES >= chunk->used) {
            index = ((index >> HRT_CHUNK_BITS) + 1) << HRT_CHUNK_BITS;  // that of the next chunk
        } else if ((hrt_node_at(queue, index)->generation & 1) != 0) {
            return index - 1;
        } else {
            index++;
        }
    }
    return UINT32_MAX;
}

// Arming.

// Returns the per-class wheel for such a timer, which is made if there is none yet: the ordinary
// one if there is no memory for it.
static struct hrt_class *class_for(struct hrt_queue *queue, hrt_arm_options options) {
    if (!options.is_precise && options.tolerance_ns <= 0) return &queue->class;
    struct hrt_class *class =
        hrt_class_make(queue, options.is_precise ? HRT_PRECISE : HRT_TOLERANT);
    return class != NULL ? class : &queue->class;
}

// Arms a node in a per-class wheel, whichever it was armed in before. In a bucket it stays where it
// is, unless the queue would look there too late.
static void arm(struct hrt_queue *queue, struct hrt_class *class, uint32_t index, uint64_t key,
                int64_t tolerance_ns) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_at(queue, index);
    // If it was not armed in this class, the bound may be looked for again in vain.
    hrt_class_leaves(class, index, node);
    queue->armed_count += !hrt_node_is_armed(node);
    if (class->windows != NULL) hrt_windows_open(queue, index, key, tolerance_ns);
    node->key = key;
    node->sequence = ++queue->last_sequence;
    if (key < class->bound) class->bound = key;
    // Greater than the last bucket's if the node is in none, or in another per-class wheel.
    uint32_t place = node->place - class->base;
    if (place >= HRT_NOWHERE || key < class->earliest[place])
        hrt_wheel_requeue(queue, class, index);
}

void hrt_queue_arm(hrt_queue *queue, uint32_t slot, int64_t deadline_ns, hrt_arm_options options) {
    struct hrt_class *class = class_for(queue, options);
    arm(queue, class, slot + 1, hrt_key(deadline_ns), options.tolerance_ns);
}

bool hrt_queue_disarm(hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    return hrt_node_disarm(queue, slot + 1, hrt_node_at(queue, slot + 1));
}

int64_t hrt_queue_slot_wake_ns(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    const struct hrt_node *node = hrt_node_at(queue, slot + 1);
    if (!hrt_node_is_armed(node)) return INT64_MAX;
    bool has_window = hrt_class_of(queue, node)->windows != NULL;
    return hrt_key_ns(has_window ? *hrt_window_end_of(queue, slot + 1) : node->key);
}

uint64_t hrt_queue_last_sequence(const hrt_queue *queue) HRT_NONBLOCKING {
    return queue->last_sequence & ~HRT_ARMED;
}

// The earliest deadlines.

int64_t hrt_queue_next_ns(hrt_queue *queue) HRT_NONBLOCKING {
    if (queue->armed_count == 0) return INT64_MAX;
    uint64_t bound = HRT_KEY_NEVER;
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        if (queue->classes[number] != NULL)
            bound = earlier(bound, hrt_class_bound(queue, queue->classes[number]));
    }
    return hrt_key_ns(bound);
}

bool hrt_queue_has_before(hrt_queue *queue, int64_t instant_ns) HRT_NONBLOCKING {
    uint64_t bound = HRT_KEY_NEVER;
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        if (queue->classes[number] != NULL) bound = earlier(bound, queue->classes[number]->bound);
    }
    return bound < hrt_key(instant_ns) && hrt_queue_next_ns(queue) < instant_ns;
}

int64_t hrt_queue_next_precise_ns(hrt_queue *queue) HRT_NONBLOCKING {
    struct hrt_class *class = queue->classes[HRT_PRECISE];
    return class == NULL ? INT64_MAX : hrt_key_ns(hrt_class_bound(queue, class));
}

int64_t hrt_queue_next_wake_ns(hrt_queue *queue) HRT_NONBLOCKING {
    if (queue->armed_count == 0) return INT64_MAX;
    uint64_t wake = HRT_KEY_NEVER;
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        if (queue->classes[number] != NULL)
            wake = earlier(wake, hrt_class_wake(queue, queue->classes[number]));
    }
    return hrt_key_ns(wake);
}

bool hrt_queue_normalize(hrt_queue *queue) HRT_NONBLOCKING {
    int moves_left = HRT_MOVES_PER_CALL;
    bool is_normalized = true;
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        struct hrt_class *class = queue->classes[number];
        if (class != NULL && !hrt_class_normalize(queue, class, &moves_left)) is_normalized = false;
    }
    return !is_normalized;
}

// Taking.

// Returns the first due node of all per-class wheels. Returns 0 if nothing is due, or if the moves
// were used up before that was known: *out_known is false in the second case.
static uint32_t first_due(struct hrt_queue *queue, uint64_t now_key, int *moves_left,
                          bool *out_known) {
    uint32_t first = 0;
    *out_known = true;
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        struct hrt_class *class = queue->classes[number];
        if (class == NULL || hrt_class_passes(class, now_key)) continue;
        uint32_t due;
        if (!hrt_class_due(queue, class, now_key, moves_left, &due)) *out_known = false;
        if (due == 0) continue;
        if (first == 0 || hrt_node_is_before(hrt_node_at(queue, due), hrt_node_at(queue, first)))
            first = due;
    }
    return *out_known ? first : 0;
}

size_t hrt_queue_take_due(hrt_queue *queue, int64_t now_ns, hrt_due *out_due,
                          size_t capacity) HRT_NONBLOCKING {
    uint64_t now_key = hrt_key(now_ns);
    int moves_left = HRT_MOVES_PER_CALL;
    size_t taken = 0;
    bool is_known;
    uint32_t index;
    while ((index = first_due(queue, now_key, &moves_left, &is_known)) != 0) {
        if (taken == capacity) break;
        struct hrt_node *node = hrt_node_at(queue, index);
        out_due[taken++] = (hrt_due){.deadline_ns = hrt_key_ns(node->key),
                                     .token = hrt_node_token(index, node),
                                     .sequence = node->sequence & ~HRT_ARMED};
        hrt_node_disarm(queue, index, node);
    }
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        if (queue->classes[number] != NULL)
            hrt_class_taken(queue->classes[number], now_key, index == 0 && is_known);
    }
    return taken;
}

// Memory.

bool hrt_queue_wants_trim(const hrt_queue *queue) HRT_NONBLOCKING {
    enum { LEAST_PEAK = 4096 };  // below it a queue is small
    return queue->peak >= LEAST_PEAK && queue->count <= queue->peak / 4;
}

// Dequeues the nodes of a chunk that are not armed: free nodes are still queued.
static void dequeue_unarmed(struct hrt_queue *queue, uint32_t number) {
    uint32_t first = number * HRT_CHUNK_NODES;
    uint32_t end = first + queue->chunks[number].used;
    for (uint32_t index = first; index < end; index++) {
        if (hrt_node_is_armed(hrt_node_at(queue, index))) continue;
        hrt_wheel_dequeue(queue, index);
        hrt_windows_forget(queue, index);
    }
}

bool hrt_queue_trim(hrt_queue *queue) {
    if (queue->mapped_count == 0) return false;  // it never had a timer
    hrt_slab_give_spare(queue);
    if (queue->first_empty != 0) {
        uint32_t number = hrt_slab_take_listed_chunk(queue);
        if (queue->chunks[number].live != 0) return true;
        dequeue_unarmed(queue, number);
        hrt_slab_unmap_chunk(queue, number);
        return true;
    }
    dequeue_unarmed(queue, 0);
    for (unsigned class = 0; class < HRT_CLASSES; class += 1) {
        if (queue->classes[class] == NULL) continue;
        hrt_slab_trim_heaps(queue->classes[class], queue->mapped_count);
        hrt_wheel_trim(queue->classes[class]);
    }
    queue->peak = queue->count;
    return false;
}

size_t hrt_queue_memory_bytes(const hrt_queue *queue) {
    size_t bytes = hrt_slab_resident(queue, sizeof *queue) + hrt_slab_bytes(queue);
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        const struct hrt_class *class = queue->classes[number];
        if (class == NULL) continue;
        bytes += hrt_slab_heap_bytes(class);
        if (class != &queue->class) bytes += hrt_slab_resident(class, sizeof *class);
    }
    return bytes;
}
#endif

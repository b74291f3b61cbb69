#ifdef __linux__
// The queue: tokens and the rules of arming, on top of the slab and the per-class wheels.
#include <errno.h>

#include "hrt_queue_pages.h"
#include "hrt_queue_rare.h"

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

int hrt_queue_create(hrt_queue **out_queue) {
    struct hrt_queue *queue = hrt_pages_map(sizeof *queue);
    if (queue == NULL) return -ENOMEM;
    hrt_class_init(&queue->class, HRT_ORDINARY, 0);
    queue->classes[HRT_ORDINARY] = &queue->class;
    queue->last_sequence = HRT_ARMED;
    queue->room_block = HRT_NO_BLOCK;
    *out_queue = queue;
    return 0;
}

void hrt_queue_destroy(hrt_queue *queue) {
    hrt_slab_free(queue);
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        struct hrt_class *class = queue->classes[number];
        if (class == NULL) continue;
        hrt_class_release(class);
        if (class != &queue->class) hrt_pages_unmap(class, sizeof *class);
    }
    hrt_pages_unmap(queue, sizeof *queue);
}

int hrt_queue_add(hrt_queue *queue, hrt_token *out_token) {
    if (HRT_UNLIKELY(queue->spare_count == 0)) return hrt_rare_add(queue, out_token);
    uint32_t slot = hrt_slab_take_spare(queue);
    *out_token = (hrt_token){.slot = slot, .generation = hrt_node_of(queue, slot)->generation};
    return 0;
}

int hrt_queue_schedule(hrt_queue *queue, int64_t deadline_ns, int64_t tolerance_ns,
                       hrt_token *out_token) {
    if (HRT_UNLIKELY(queue->spare_count == 0)) {
        return hrt_rare_schedule(queue, deadline_ns, tolerance_ns, out_token);
    }
    uint32_t slot = hrt_slab_take_spare(queue);
    struct hrt_node *node = hrt_node_of(queue, slot);
    *out_token = (hrt_token){.slot = slot, .generation = node->generation};
    uint64_t key = hrt_key(deadline_ns);
    if (HRT_UNLIKELY(tolerance_ns > 0 || node->place > HRT_NOWHERE)) {
        return hrt_rare_arm_new(queue, slot + 1, key, tolerance_ns);
    }
    queue->armed_count++;
    node->sequence = ++queue->last_sequence;
    node->key = key;
    bool is_list_full = hrt_class_armed(&queue->class, slot, node->place, key);
    return HRT_UNLIKELY(is_list_full) ? hrt_rare_file_listed_for_new(queue) : 0;
}

bool hrt_queue_is_live(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    return hrt_slab_node(queue, token) != NULL;
}

bool hrt_queue_remove(hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_slab_node(queue, token);
    if (node == NULL) return false;
    if (HRT_UNLIKELY(node->place > HRT_NOWHERE || queue->spare_count == HRT_SPARES)) {
        return hrt_rare_remove(queue, token.slot + 1);
    }
    queue->armed_count += (node->sequence < 1) - 1U;
    if (HRT_UNLIKELY(node->key == queue->class.bound)) queue->class.certainty = HRT_STALE;
    node->sequence = 0;
    hrt_slab_give_spare(queue, token.slot, node);
    return true;
}

bool hrt_queue_is_armed(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING {
    const struct hrt_node *node = hrt_slab_node(queue, token);
    return node != NULL && hrt_node_is_armed(node);
}

void hrt_queue_arm_slot(hrt_queue *queue, uint32_t slot, int64_t deadline_ns) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_of(queue, slot);
    uint64_t key = hrt_key(deadline_ns);
    if (HRT_UNLIKELY(node->place > HRT_NOWHERE)) {
        hrt_rare_arm_ordinary(queue, slot + 1, key);
        return;
    }
    if (HRT_UNLIKELY(node->key == queue->class.bound)) queue->class.certainty = HRT_STALE;
    hrt_node_set_armed(queue, node, key);
    bool is_list_full = hrt_class_armed(&queue->class, slot, node->place, key);
    if (HRT_UNLIKELY(is_list_full)) hrt_rare_file_listed(queue);
}

void hrt_queue_arm_slot_tolerant(hrt_queue *queue, uint32_t slot, int64_t deadline_ns,
                                 int64_t tolerance_ns) {
    hrt_rare_arm(queue, slot + 1, hrt_key(deadline_ns), tolerance_ns);
}

void hrt_queue_arm_slot_precise(hrt_queue *queue, uint32_t slot, int64_t deadline_ns) {
    hrt_rare_arm_precise(queue, slot + 1, hrt_key(deadline_ns));
}

bool hrt_queue_disarm_slot(hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    return hrt_node_disarm(queue, slot + 1, hrt_node_at(queue, slot + 1));
}

bool hrt_queue_is_armed_slot(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    return hrt_node_is_armed(hrt_node_at(queue, slot + 1));
}

int64_t hrt_queue_slot_wake_ns(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING {
    const struct hrt_node *node = hrt_node_of(queue, slot);
    if (!hrt_node_is_armed(node)) return INT64_MAX;
    const struct hrt_windows *windows =
        queue->classes[hrt_node_class(node) >> HRT_PLACE_CLASS_SHIFT]->windows;
    return hrt_key_ns(windows != NULL ? windows->end_of.keys[slot + 1] : node->key);
}

int64_t hrt_queue_next_ns(hrt_queue *queue) HRT_NONBLOCKING {
    if (queue->armed_count == 0) return INT64_MAX;
    uint64_t bound = queue->class.certainty == HRT_STALE ? hrt_class_bound(queue, &queue->class)
                                                        : queue->class.bound;
    for (unsigned number = HRT_ORDINARY + 1; number < HRT_CLASSES; number++) {
        if (queue->classes[number] != NULL)
            bound = earlier(bound, hrt_class_bound(queue, queue->classes[number]));
    }
    return hrt_key_ns(bound);
}

bool hrt_queue_has_before(hrt_queue *queue, int64_t instant_ns) HRT_NONBLOCKING {
    uint64_t key = hrt_key(instant_ns);
    uint64_t bound = queue->class.bound;
    for (unsigned number = HRT_ORDINARY + 1; number < HRT_CLASSES; number++) {
        if (queue->classes[number] != NULL) bound = earlier(bound, queue->classes[number]->bound);
    }
    return bound < key && hrt_queue_next_ns(queue) < instant_ns;
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
        if (class == NULL || class->certainty == HRT_EXACT) continue;
        if (!hrt_class_normalize(queue, class, &moves_left)) is_normalized = false;
    }
    return !is_normalized;
}

size_t hrt_queue_take_due(hrt_queue *queue, int64_t now_ns, hrt_due *out_due,
                          size_t capacity) HRT_NONBLOCKING {
    uint64_t now_key = hrt_key(now_ns);
    bool passes = hrt_class_passes(&queue->class, now_key);
    for (unsigned number = HRT_ORDINARY + 1; number < HRT_CLASSES; number++) {
        if (queue->classes[number] != NULL)
            passes &= hrt_class_passes(queue->classes[number], now_key);
    }
    return passes ? 0 : hrt_rare_take_due(queue, now_key, out_due, capacity);
}

void hrt_queue_fetch_next(hrt_queue *queue) HRT_NONBLOCKING {
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        struct hrt_class *class = queue->classes[number];
        if (class != NULL && class->near_count != 0) hrt_near_fetch(queue, class);
    }
}

uint64_t hrt_queue_last_sequence(const hrt_queue *queue) HRT_NONBLOCKING {
    return queue->last_sequence & ~HRT_ARMED;
}

size_t hrt_queue_count(const hrt_queue *queue) HRT_NONBLOCKING {
    return queue->taken - queue->spare_count;
}

size_t hrt_queue_memory_bytes(const hrt_queue *queue) {
    size_t bytes = hrt_pages_resident(queue, sizeof *queue) + hrt_slab_bytes(queue);
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        const struct hrt_class *class = queue->classes[number];
        if (class == NULL) continue;
        bytes += hrt_class_bytes(class);
        if (class != &queue->class) bytes += hrt_pages_resident(class, sizeof *class);
    }
    return bytes;
}
#endif

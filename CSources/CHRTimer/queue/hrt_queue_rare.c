#ifdef __linux__
// The rare cases of hrt_queue.c: arming and removing a node that is in the near tier or has
// tolerance, full lists, and empty stocks of spare nodes. They are in a file of their own, so that
// the compiler cannot inline them and a common path ends in a tail call: that path then needs no
// stack frame and saves no registers.
#include "hrt_queue_rare.h"

// Makes one node spare. Filing must never allocate, so every per-class wheel reserves room for all
// nodes here.
static int refill(struct hrt_queue *queue) {
    uint32_t blocks = hrt_slab_blocks_wanted(queue);
    for (unsigned number = 0; blocks > queue->blocks_used && number < HRT_CLASSES; number++) {
        if (queue->classes[number] == NULL) continue;
        int status = hrt_class_reserve(queue->classes[number], blocks);
        if (status != 0) return status;
    }
    return hrt_slab_refill(queue);
}

int hrt_rare_add(struct hrt_queue *queue, hrt_token *out_token) {
    int status = refill(queue);
    if (status != 0) return status;
    uint32_t slot = hrt_slab_take_spare(queue);
    *out_token = (hrt_token){.slot = slot, .generation = hrt_node_of(queue, slot)->generation};
    return 0;
}

// Takes the node out of the per-class wheel in which it is queued, so that it can be queued in
// another.
static void change_class(struct hrt_queue *queue, struct hrt_class *class, uint32_t index,
                        struct hrt_node *node) {
    if (hrt_node_class(node) == class->base) return;
    hrt_wheel_dequeue(queue, hrt_class_of(queue, node), index);
    node->place = class->base | HRT_NOWHERE;
}

static void leave(struct hrt_queue *queue, uint32_t index) {
    const struct hrt_node *node = hrt_node_at(queue, index);
    if (hrt_node_is_armed(node)) hrt_class_leaves(hrt_class_of(queue, node), index, node);
}

static void arm_in(struct hrt_queue *queue, struct hrt_class *class, uint32_t index, uint64_t key) {
    struct hrt_node *node = hrt_node_at(queue, index);
    change_class(queue, class, index, node);
    hrt_node_set_armed(queue, node, key);
    uint32_t place = node->place - class->base;
    if (HRT_UNLIKELY(place > HRT_NOWHERE)) {
        if (key < class->bound) class->bound = key;
        hrt_wheel_requeue(queue, class, index);
    } else if (HRT_UNLIKELY(hrt_class_armed(class, index - 1, place, key))) {
        hrt_wheel_enqueue_listed(queue, class);
    }
}

void hrt_rare_arm_ordinary(struct hrt_queue *queue, uint32_t index, uint64_t key) HRT_NONBLOCKING {
    leave(queue, index);
    arm_in(queue, &queue->class, index, key);
}

void hrt_rare_arm_precise(struct hrt_queue *queue, uint32_t index, uint64_t key) {
    struct hrt_class *class = hrt_class_make(queue, HRT_PRECISE);
    leave(queue, index);
    arm_in(queue, class != NULL ? class : &queue->class, index, key);
}

static void arm_first_tolerant(struct hrt_queue *queue, uint32_t index, uint64_t key,
                               int64_t tolerance_ns) {
    struct hrt_class *class = hrt_class_make(queue, HRT_TOLERANT);
    leave(queue, index);
    if (class == NULL) {
        arm_in(queue, &queue->class, index, key);
        return;
    }
    hrt_windows_open(class->windows, index, hrt_window_end(key, tolerance_ns));
    arm_in(queue, class, index, key);
}

// Arms a timer with tolerance that has tolerance already: the common path of its per-class wheel.
static HRT_ON_PATH void arm_tolerant(struct hrt_queue *queue, uint32_t index, uint64_t key,
                                     int64_t tolerance_ns) {
    struct hrt_node *node = hrt_node_at(queue, index);
    struct hrt_class *class = queue->classes[HRT_TOLERANT];
    uint32_t place = node->place - ((uint32_t)HRT_TOLERANT << HRT_PLACE_CLASS_SHIFT);
    if (HRT_UNLIKELY(place > HRT_NOWHERE)) {
        arm_first_tolerant(queue, index, key, tolerance_ns);
        return;
    }
    hrt_class_leaves(class, index, node);
    hrt_windows_open(class->windows, index, hrt_window_end(key, tolerance_ns));
    hrt_node_set_armed(queue, node, key);
    bool is_list_full = hrt_class_armed(class, index - 1, place, key);
    if (HRT_UNLIKELY(is_list_full)) hrt_wheel_enqueue_listed(queue, class);
}

void hrt_rare_arm(struct hrt_queue *queue, uint32_t index, uint64_t key, int64_t tolerance_ns) {
    if (tolerance_ns > 0) {
        arm_tolerant(queue, index, key, tolerance_ns);
    } else {
        hrt_rare_arm_ordinary(queue, index, key);
    }
}

int hrt_rare_arm_new(struct hrt_queue *queue, uint32_t index, uint64_t key, int64_t tolerance_ns) {
    // Does not call hrt_rare_arm: the compiler would make that a call instead of inlining it.
    if (tolerance_ns > 0) {
        arm_tolerant(queue, index, key, tolerance_ns);
    } else {
        hrt_rare_arm_ordinary(queue, index, key);
    }
    return 0;
}

int hrt_rare_schedule(struct hrt_queue *queue, int64_t deadline_ns, int64_t tolerance_ns,
                      hrt_token *out_token) {
    int status = hrt_rare_add(queue, out_token);
    if (status == 0) hrt_rare_arm(queue, out_token->slot + 1, hrt_key(deadline_ns), tolerance_ns);
    return status;
}

void hrt_rare_file_listed(struct hrt_queue *queue) HRT_NONBLOCKING {
    hrt_wheel_enqueue_listed(queue, &queue->class);
}

int hrt_rare_file_listed_for_new(struct hrt_queue *queue) {
    hrt_wheel_enqueue_listed(queue, &queue->class);
    return 0;
}

static bool remove_any(struct hrt_queue *queue, uint32_t index) {
    hrt_node_disarm(queue, index, hrt_node_at(queue, index));
    hrt_slab_give(queue, index);
    return true;
}

bool hrt_rare_remove(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_at(queue, index);
    if (HRT_UNLIKELY(hrt_node_is_near(node) || queue->spare_count == HRT_SPARES))
        return remove_any(queue, index);
    // The node is in the wheel of a precise or tolerant class. If it is not armed, a bound may be
    // recomputed for nothing.
    queue->armed_count += (node->sequence < 1) - 1U;
    hrt_class_leaves(hrt_class_of(queue, node), index, node);
    node->sequence = 0;
    hrt_slab_give_spare(queue, index - 1, node);
    return true;
}

// Returns the first due node of all per-class wheels. Returns 0 if nothing is due, or if the moves
// were used up before that was known: *out_known is false in the second case.
static uint32_t first_due(struct hrt_queue *queue, uint64_t now_key, int *moves_left,
                          bool *out_known) {
    uint32_t first = 0;
    *out_known = hrt_class_due(queue, &queue->class, now_key, moves_left, &first);
    for (unsigned number = HRT_ORDINARY + 1; number < HRT_CLASSES; number++) {
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

size_t hrt_rare_take_due(struct hrt_queue *queue, uint64_t now_key, hrt_due *out_due,
                         size_t capacity) HRT_NONBLOCKING {
    int moves_left = HRT_MOVES_PER_CALL;
    size_t taken = 0;
    bool is_known;
    uint32_t index;
    while ((index = first_due(queue, now_key, &moves_left, &is_known)) != 0) {
        if (taken == capacity) break;
        struct hrt_node *node = hrt_node_at(queue, index);
        out_due[taken++] = hrt_node_due(index, node);
        hrt_node_disarm(queue, index, node);
    }
    for (unsigned number = 0; number < HRT_CLASSES; number++) {
        if (queue->classes[number] == NULL) continue;
        hrt_class_taken(queue->classes[number], now_key, index == 0 && is_known);
        queue->classes[number]->fetched = 0;
    }
    return taken;
}
#endif

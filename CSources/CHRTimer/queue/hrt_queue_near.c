// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// The near tier, in exact order. It holds armed nodes due in the present tick or before it, nodes
// due within a second while few timers are armed, and nodes of later buckets that were walked to
// find the next deadline. The run is a list in that order, linked through the nodes.
#include "hrt_queue_near.h"

// How many nodes from the end of the run a node may be inserted. A bucket holds few nodes, or many
// that were armed in order of deadline; both arrive almost in order.
enum { RUN_REACH = 16, FAN = 4 };

static bool is_before(const struct hrt_queue *queue, uint32_t a, uint32_t b) {
    return hrt_node_is_before(hrt_node_at(queue, a), hrt_node_at(queue, b));
}

static void heap_put(struct hrt_queue *queue, struct hrt_class *class, uint32_t place,
                     uint32_t index) {
    class->heap.indices[place] = index;
    hrt_node_set_place(hrt_node_at(queue, index), HRT_IN_HEAP | place);
}

static void heap_rise(struct hrt_queue *queue, struct hrt_class *class, uint32_t place,
                      uint32_t index) {
    while (place > 0) {
        uint32_t parent = (place - 1) / FAN;
        if (!is_before(queue, index, class->heap.indices[parent])) break;
        heap_put(queue, class, place, class->heap.indices[parent]);
        place = parent;
    }
    heap_put(queue, class, place, index);
}

static void heap_sink(struct hrt_queue *queue, struct hrt_class *class, uint32_t place,
                      uint32_t index) {
    for (;;) {
        uint32_t child = place * FAN + 1;
        if (child >= class->heap_count) break;
        uint32_t end = child + FAN < class->heap_count ? child + FAN : class->heap_count;
        uint32_t least = child;
        for (child++; child < end; child++) {
            if (is_before(queue, class->heap.indices[child], class->heap.indices[least]))
                least = child;
        }
        if (!is_before(queue, class->heap.indices[least], index)) break;
        heap_put(queue, class, place, class->heap.indices[least]);
        place = least;
    }
    heap_put(queue, class, place, index);
}

static void heap_remove(struct hrt_queue *queue, struct hrt_class *class, uint32_t place) {
    uint32_t last = class->heap.indices[--class->heap_count];
    if (place == class->heap_count) return;
    if (place > 0 && is_before(queue, last, class->heap.indices[(place - 1) / FAN])) {
        heap_rise(queue, class, place, last);
    } else {
        heap_sink(queue, class, place, last);
    }
}

static void run_insert_after(struct hrt_queue *queue, struct hrt_class *class, uint32_t previous,
                             uint32_t index) {
    struct hrt_node *node = hrt_node_at(queue, index);
    uint32_t *link = previous == 0 ? &class->run_first : &hrt_node_at(queue, previous)->next;
    node->previous = previous;
    node->next = *link;
    *link = index;
    if (node->next != 0) {
        hrt_node_at(queue, node->next)->previous = index;
    } else {
        class->run_last = index;
    }
    hrt_node_set_place(node, HRT_IN_RUN);
}

static void run_remove(struct hrt_queue *queue, struct hrt_class *class,
                       const struct hrt_node *node) {
    if (node->previous != 0) {
        hrt_node_at(queue, node->previous)->next = node->next;
    } else {
        class->run_first = node->next;
    }
    if (node->next != 0) {
        hrt_node_at(queue, node->next)->previous = node->previous;
    } else {
        class->run_last = node->previous;
    }
}

// Enqueues a node in the heap: it is so late that, in the run, each earlier node would have to step
// over it.
void hrt_near_enqueue_far(struct hrt_queue *queue, struct hrt_class *class,
                          uint32_t index) HRT_NONBLOCKING {
    class->near_count++;
    if (class->windows != NULL) hrt_windows_put(queue, index);
    heap_rise(queue, class, class->heap_count++, index);
}

void hrt_near_enqueue(struct hrt_queue *queue, struct hrt_class *class,
                      uint32_t index) HRT_NONBLOCKING {
    class->near_count++;
    if (class->windows != NULL) hrt_windows_put(queue, index);
    uint32_t previous = class->run_last;
    for (unsigned steps = 0; previous != 0 && is_before(queue, index, previous); steps++) {
        if (steps == RUN_REACH) {
            heap_rise(queue, class, class->heap_count++, index);
            return;
        }
        previous = hrt_node_at(queue, previous)->previous;
    }
    run_insert_after(queue, class, previous, index);
}

void hrt_near_dequeue(struct hrt_queue *queue, struct hrt_class *class,
                      uint32_t index) HRT_NONBLOCKING {
    struct hrt_node *node = hrt_node_at(queue, index);
    if (hrt_node_is_in_run(node)) {
        run_remove(queue, class, node);
    } else {
        heap_remove(queue, class, hrt_node_index(node));
    }
    hrt_node_set_place(node, HRT_NOWHERE);
    class->near_count--;
}

uint32_t hrt_near_first(const struct hrt_queue *queue,
                        const struct hrt_class *class) HRT_NONBLOCKING {
    if (class->heap_count == 0) return class->run_first;
    if (class->run_first == 0 || is_before(queue, class->heap.indices[0], class->run_first))
        return class->heap.indices[0];
    return class->run_first;
}

uint64_t hrt_near_key(const struct hrt_queue *queue,
                      const struct hrt_class *class) HRT_NONBLOCKING {
    uint32_t first = hrt_near_first(queue, class);
    return first == 0 ? HRT_KEY_NEVER : hrt_node_at(queue, first)->key;
}
#endif

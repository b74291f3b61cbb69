// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// The windows of timers with tolerance. Their per-class wheel enqueues by deadline like the others.
// Beside it are the end of each node's window, and a heap of the ends of near nodes. Timers in the
// wheel need no entry in that heap: windows end after they begin, and a timer whose window begins
// before the earliest end is in the near tier (hrt_class_normalize).
//
// When a timer is disarmed or moved, its end stays in the heap until it becomes the earliest, or
// until most entries are stale: a wake-up takes nearly all near nodes, and removing their ends one
// by one would cost more than rebuilding the heap.
#include "hrt_queue_windows.h"

enum { FAN = 4, MIN_STALE_ENDS = 16 };

static void put(struct hrt_queue *queue, uint32_t place, struct hrt_window_end end) {
    queue->windows.heap.ends[place] = end;
    *hrt_window_entry_of(queue, end.index) = place;
}

static void rise(struct hrt_queue *queue, uint32_t place, struct hrt_window_end end) {
    const struct hrt_window_end *ends = queue->windows.heap.ends;
    while (place > 0) {
        uint32_t parent = (place - 1) / FAN;
        if (end.end >= ends[parent].end) break;
        put(queue, place, ends[parent]);
        place = parent;
    }
    put(queue, place, end);
}

static void sink(struct hrt_queue *queue, uint32_t place, struct hrt_window_end end) {
    const struct hrt_window_end *ends = queue->windows.heap.ends;
    uint32_t count = queue->windows.count;
    for (;;) {
        uint32_t child = place * FAN + 1;
        if (child >= count) break;
        uint32_t last = child + FAN < count ? child + FAN : count;
        uint32_t least = child;
        for (child++; child < last; child++) {
            if (ends[child].end < ends[least].end) least = child;
        }
        if (ends[least].end >= end.end) break;
        put(queue, place, ends[least]);
        place = least;
    }
    put(queue, place, end);
}

// Puts another end in the place of one.
static void replace(struct hrt_queue *queue, uint32_t place, struct hrt_window_end end) {
    if (end.end < queue->windows.heap.ends[place].end) {
        rise(queue, place, end);
    } else {
        sink(queue, place, end);
    }
}

// Returns whether the node has an entry in the heap, which is then at *out_place. It has at most
// one.
static bool find(const struct hrt_queue *queue, uint32_t index, uint32_t *out_place) {
    *out_place = *hrt_window_entry_of(queue, index);
    return *out_place < queue->windows.count && queue->windows.heap.ends[*out_place].index == index;
}

void hrt_windows_put(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING {
    struct hrt_window_end end = {.end = *hrt_window_end_of(queue, index), .index = index};
    uint32_t place;
    if (find(queue, index, &place)) {
        replace(queue, place, end);
    } else {
        rise(queue, queue->windows.count++, end);
    }
}

void hrt_windows_forget(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING {
    uint32_t place;
    if (!find(queue, index, &place)) return;
    struct hrt_window_end last = queue->windows.heap.ends[--queue->windows.count];
    if (place < queue->windows.count) replace(queue, place, last);
}

// Returns whether the entry is the end of an armed timer's window. The timer need not be in the
// near tier.
static bool is_open(const struct hrt_queue *queue, const struct hrt_class *class,
                    struct hrt_window_end end) {
    const struct hrt_node *node = hrt_node_at(queue, end.index);
    return hrt_node_is_armed(node) && hrt_node_class(node) == class->base &&
           *hrt_window_end_of(queue, end.index) == end.end;
}

static void keep_near_only(struct hrt_queue *queue, const struct hrt_class *class) {
    queue->windows.count = 0;
    for (uint32_t index = class->run_first; index != 0; index = hrt_node_at(queue, index)->next)
        hrt_windows_put(queue, index);
    for (uint32_t place = 0; place < class->heap_count; place++)
        hrt_windows_put(queue, class->heap.indices[place]);
}

uint64_t hrt_windows_first(struct hrt_queue *queue, struct hrt_class *class,
                           int *moves_left) HRT_NONBLOCKING {
    struct hrt_windows *windows = &queue->windows;
    if (windows->count > 2 * class->near_count + MIN_STALE_ENDS &&
        class->near_count <= HRT_MOVES_PER_CALL) {
        *moves_left -= (int)class->near_count;
        keep_near_only(queue, class);
    }
    while (windows->count > 0 && !is_open(queue, class, windows->heap.ends[0])) {
        if (--*moves_left < 0) break;
        windows->count--;
        if (windows->count > 0) sink(queue, 0, windows->heap.ends[windows->count]);
    }
    return windows->count == 0 ? HRT_KEY_NEVER : windows->heap.ends[0].end;
}
#endif

// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// A per-class wheel: how nodes go from the wheel through the near tier until they are due, and how
// the bound of the earliest deadline is kept.
#include "hrt_queue_class.h"

// How many nodes a query may look at for an exact result before it returns a lower bound.
enum { MOVES_PER_QUERY = HRT_MOVES_PER_CALL < 64 ? HRT_MOVES_PER_CALL : 64 };

void hrt_class_init(struct hrt_class *class, enum hrt_class_number number, uint64_t tick) {
    class->tick = tick;
    class->look_tick = UINT64_MAX;
    class->bound = HRT_KEY_NEVER;
    class->base = (uint32_t)number << HRT_PLACE_CLASS_SHIFT;
    class->crowd = HRT_NOWHERE;
}

// Returns the per-class wheel, and makes it if there is none yet. NULL if there is no memory for
// it.
struct hrt_class *hrt_class_make(struct hrt_queue *queue, enum hrt_class_number number) {
    if (queue->classes[number] != NULL) return queue->classes[number];
    struct hrt_class *class = hrt_slab_map(sizeof *class);
    if (class == NULL) return NULL;
    hrt_class_init(class, number, queue->class.tick);
    if (number == HRT_TOLERANT) class->windows = &queue->windows;
    if (hrt_slab_resize_heaps(class, queue->mapped_count) != 0) {
        hrt_slab_free_heaps(class);
        hrt_slab_unmap(class, sizeof *class);
        return NULL;
    }
    queue->classes[number] = class;
    return class;
}

static inline void raise(uint64_t *bound, uint64_t key) {
    if (key > *bound) *bound = key;
}

// Makes the bound and the earliest end of a window exact. Returns false if the moves were used up
// before that; the next call continues.
//
// In the per-class wheel of timers with tolerance, every timer whose window begins before the
// earliest end goes to the near tier: it fires at that wake-up at the latest.
bool hrt_class_normalize(struct hrt_queue *queue, struct hrt_class *class,
                         int *moves_left) HRT_NONBLOCKING {
    if (class->certainty == HRT_EXACT) return true;
    while (*moves_left > 0) {
        if (class->cascading != 0) {
            hrt_wheel_cascade(queue, class, moves_left);
            continue;
        }
        if (class->crowd != HRT_NOWHERE) {
            hrt_wheel_spread(queue, class, moves_left);
            continue;
        }
        struct hrt_wheel_first first = hrt_wheel_first(queue, class);
        uint64_t near = hrt_near_key(queue, class);
        uint64_t limit =
            class->windows == NULL ? near : hrt_windows_first(queue, class, moves_left);
        if (*moves_left < 0) return false;
        if (first.key >= limit || (class->windows == NULL && first.is_exact)) {
            class->bound = near < first.key ? near : first.key;
            if (class->windows != NULL) hrt_windows_normalized(class->windows, limit);
            class->certainty = HRT_EXACT;
            return true;
        }
        hrt_wheel_look_into(queue, class, first.place, limit, moves_left);
    }
    return false;
}

uint64_t hrt_class_bound(struct hrt_queue *queue, struct hrt_class *class) HRT_NONBLOCKING {
    if (class->certainty != HRT_STALE) return class->bound;
    uint64_t near = hrt_near_key(queue, class);
    if (class->cascading != 0) {
        // The nodes still in the cascading buckets are not sorted yet; they are due in the present
        // tick or after it.
        uint64_t present = class->tick << HRT_TICK_BITS;
        raise(&class->bound, near < present ? near : present);
        return class->bound;
    }
    // No bucket begins before the first node of the near tier: the wheel need not be touched.
    if (class->windows == NULL && near >> HRT_TICK_BITS < class->look_tick) {
        raise(&class->bound, near);
        class->certainty = HRT_EXACT;
        return class->bound;
    }
    struct hrt_wheel_first first = hrt_wheel_first(queue, class);
    uint64_t old = class->bound;
    raise(&class->bound, near < first.key ? near : first.key);
    bool is_exact = class->windows == NULL && (near <= first.key || first.is_exact);
    class->certainty = is_exact ? HRT_EXACT : HRT_LOWER;
    if (!is_exact && class->bound == old) {
        int moves_left = MOVES_PER_QUERY;
        hrt_class_normalize(queue, class, &moves_left);
    }
    return class->bound;
}

// Returns the earliest end of a window, or a lower bound of it: a caller that wakes by then can
// take every armed timer of the per-class wheel within its window.
uint64_t hrt_class_wake(struct hrt_queue *queue, struct hrt_class *class) HRT_NONBLOCKING {
    if (class->windows == NULL) return hrt_class_bound(queue, class);
    int moves_left = MOVES_PER_QUERY;
    if (!hrt_class_normalize(queue, class, &moves_left))
        raise(&class->windows->wake, hrt_class_bound(queue, class));
    return class->windows->wake;
}

// Updates the bound after timers were taken up to now_key. If all due timers were taken, no armed
// timer is due before the next nanosecond.
void hrt_class_taken(struct hrt_class *class, uint64_t now_key, bool is_all_taken) HRT_NONBLOCKING {
    if (class->bound > now_key) return;
    class->certainty = HRT_STALE;
    if (!is_all_taken || now_key == HRT_KEY_NEVER) return;
    raise(&class->bound, now_key + 1);
    if (class->windows != NULL) raise(&class->windows->wake, now_key + 1);
}

// Advances the present: to the next occupied bucket if one begins by now_tick, which then cascades;
// otherwise to now_tick. Returns true in the first case.
static bool advance(struct hrt_class *class, uint64_t now_tick) {
    if (now_tick <= class->tick) return false;
    uint32_t levels = 0;
    if (now_tick >= class->look_tick) hrt_wheel_next_tick(class, &class->look_tick, &levels);
    if (class->look_tick > now_tick) {
        class->tick = now_tick;
        return false;
    }
    class->tick = class->look_tick;
    class->cascading = levels;
    return true;
}

// Sets *out_first to the first armed node with key <= now_key, or to 0 if there is none. The node
// stays queued. Returns false if the moves were used up before that was known.
bool hrt_class_due(struct hrt_queue *queue, struct hrt_class *class, uint64_t now_key,
                   int *moves_left, uint32_t *out_first) HRT_NONBLOCKING {
    *out_first = 0;
    for (;;) {
        if (class->cascading != 0) {
            class->certainty = HRT_STALE;
            hrt_wheel_cascade(queue, class, moves_left);
            if (class->cascading != 0) return false;
        }
        uint32_t first = hrt_near_first(queue, class);
        uint64_t key = first == 0 ? HRT_KEY_NEVER : hrt_node_at(queue, first)->key;
        // Beyond the present tick, a node in the wheel may come before those in the near tier.
        if (first == 0 || key >> HRT_TICK_BITS > class->tick) {
            if (*moves_left <= 0) return false;
            if (advance(class, now_key >> HRT_TICK_BITS)) {
                --*moves_left;
                continue;
            }
        }
        if (key <= now_key) *out_first = first;
        return true;
    }
}
#endif

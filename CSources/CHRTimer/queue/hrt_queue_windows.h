// Windows of timers with tolerance: the latest instants at which they must fire.
#ifndef HRT_QUEUE_WINDOWS_H
#define HRT_QUEUE_WINDOWS_H

#include "hrt_queue_shape.h"

struct hrt_windows *hrt_windows_create(void);
void hrt_windows_destroy(struct hrt_windows *windows);
int hrt_windows_reserve(struct hrt_windows *windows, uint32_t blocks);
size_t hrt_windows_bytes(const struct hrt_windows *windows);
void hrt_windows_trim(struct hrt_queue *queue, struct hrt_class *class, uint32_t first,
                      uint32_t end);
void hrt_windows_put(struct hrt_windows *windows, uint32_t index) HRT_NONBLOCKING;
uint64_t hrt_windows_end(struct hrt_queue *queue, struct hrt_class *class,
                         int *moves_left) HRT_NONBLOCKING;

// Records the end of the window of a node that is armed in the per-class wheel of timers with
// tolerance, or is about to be.
static inline void hrt_windows_open(struct hrt_windows *windows, uint32_t index, uint64_t end) {
    windows->end_of.keys[index] = end;
    if (HRT_UNLIKELY(end < windows->wake)) {
        windows->wake = end;
        windows->wake_index = index;
    }
}

// Prefetches what hrt_windows_put needs of the node: in a crowd each access is a miss, which then
// overlaps with the miss of the node itself.
static inline void hrt_windows_fetch(const struct hrt_windows *windows, uint32_t index) {
    __builtin_prefetch(&windows->end_of.keys[index], 1);
    __builtin_prefetch(&windows->entry_of.indices[index], 1);
}

// Sets `wake`, which is exact now: the end at the top of the heap, or HRT_KEY_NEVER.
static inline void hrt_windows_normalized(struct hrt_windows *windows, uint64_t wake) {
    windows->wake = wake;
    windows->wake_index = windows->count == 0 ? 0 : windows->heap.ends[0].index;
}

static inline uint64_t hrt_window_end(uint64_t key, int64_t tolerance_ns) {
    uint64_t end;
    return __builtin_add_overflow(key, (uint64_t)tolerance_ns, &end) ? HRT_KEY_NEVER : end;
}

#endif

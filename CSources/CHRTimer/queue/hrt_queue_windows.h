// SPDX-License-Identifier: Apache-2.0
// Windows of timers with tolerance: the latest instants at which they must fire.
#ifndef HRT_QUEUE_WINDOWS_H
#define HRT_QUEUE_WINDOWS_H

#include "hrt_queue_slab.h"

// Puts into the heap the end of the window of a node that is in the near tier now.
void hrt_windows_put(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING;
// Takes the node's entry out of the heap, if it has one.
void hrt_windows_forget(struct hrt_queue *queue, uint32_t index) HRT_NONBLOCKING;
// Returns the earliest end of the near nodes' windows, HRT_KEY_NEVER if there is none. If no moves
// are left, the result may be too early.
uint64_t hrt_windows_first(struct hrt_queue *queue, struct hrt_class *class,
                           int *moves_left) HRT_NONBLOCKING;

static inline uint64_t *hrt_window_end_of(const struct hrt_queue *queue, uint32_t index) {
    return &queue->chunks[index >> HRT_CHUNK_BITS].memory->window_ends[index % HRT_CHUNK_NODES];
}

static inline uint32_t *hrt_window_entry_of(const struct hrt_queue *queue, uint32_t index) {
    return &queue->chunks[index >> HRT_CHUNK_BITS].memory->window_entries[index % HRT_CHUNK_NODES];
}

// Records the window of a node that is about to be armed with tolerance for the key.
static inline void hrt_windows_open(struct hrt_queue *queue, uint32_t index, uint64_t key,
                                    int64_t tolerance_ns) {
    uint64_t end;
    if (__builtin_add_overflow(key, (uint64_t)tolerance_ns, &end)) end = HRT_KEY_NEVER;
    *hrt_window_end_of(queue, index) = end;
    if (end < queue->windows.wake) {
        queue->windows.wake = end;
        queue->windows.wake_index = index;
    }
}

// Sets `wake`, which is exact now: the end at the top of the heap, or HRT_KEY_NEVER.
static inline void hrt_windows_normalized(struct hrt_windows *windows, uint64_t wake) {
    windows->wake = wake;
    windows->wake_index = windows->count == 0 ? 0 : windows->heap.ends[0].index;
}

#endif

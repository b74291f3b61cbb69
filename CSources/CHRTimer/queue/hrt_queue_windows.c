#ifdef __linux__
// The windows of timers with tolerance. Their per-class wheel enqueues by deadline like the others.
// It also has the end of each node's window, and a heap of the ends of near nodes. Timers in the
// wheel need no entry in that heap: windows end after they begin, and a timer whose window begins
// before the earliest end is in the near tier (hrt_class_normalize).
//
// When a timer is disarmed or moved, its end stays in the heap until it becomes the earliest, or
// until most entries are stale: a wake-up takes nearly all near nodes, and removing their ends one
// by one would cost more than rebuilding the heap.
#include <errno.h>

#include "hrt_queue_pages.h"
#include "hrt_queue_windows.h"

enum { FAN = 4, MIN_STALE_ENDS = 16 };

struct hrt_windows *hrt_windows_create(void) {
    struct hrt_windows *windows = hrt_pages_map(sizeof *windows);
    if (windows != NULL) windows->wake = HRT_KEY_NEVER;
    return windows;
}

void hrt_windows_destroy(struct hrt_windows *windows) {
    if (windows == NULL) return;
    hrt_room_release(&windows->end_of, sizeof(uint64_t));
    hrt_room_release(&windows->entry_of, sizeof(uint32_t));
    hrt_room_release(&windows->heap, sizeof(struct hrt_window_end));
    hrt_pages_unmap(windows, sizeof *windows);
}

int hrt_windows_reserve(struct hrt_windows *windows, uint32_t blocks) {
    int status = hrt_room_reserve(&windows->end_of, blocks, sizeof(uint64_t));
    if (status == 0) status = hrt_room_reserve(&windows->entry_of, blocks, sizeof(uint32_t));
    if (status == 0)
        status = hrt_room_reserve(&windows->heap, blocks, sizeof(struct hrt_window_end));
    return status;
}

size_t hrt_windows_bytes(const struct hrt_windows *windows) {
    return hrt_pages_resident(windows, sizeof *windows) +
           hrt_room_bytes(&windows->end_of, sizeof(uint64_t)) +
           hrt_room_bytes(&windows->entry_of, sizeof(uint32_t)) +
           hrt_room_bytes(&windows->heap, sizeof(struct hrt_window_end));
}

static void put(struct hrt_windows *windows, uint32_t place, struct hrt_window_end end) {
    windows->heap.ends[place] = end;
    windows->entry_of.indices[end.index] = place;
}

static void rise(struct hrt_windows *windows, uint32_t place, struct hrt_window_end end) {
    while (place > 0) {
        uint32_t parent = (place - 1) / FAN;
        if (end.end >= windows->heap.ends[parent].end) break;
        put(windows, place, windows->heap.ends[parent]);
        place = parent;
    }
    put(windows, place, end);
}

static void sink(struct hrt_windows *windows, uint32_t place, struct hrt_window_end end) {
    for (;;) {
        uint32_t child = place * FAN + 1;
        if (child >= windows->count) break;
        uint32_t last = child + FAN < windows->count ? child + FAN : windows->count;
        uint32_t least = child;
        for (child++; child < last; child++) {
            if (windows->heap.ends[child].end < windows->heap.ends[least].end) least = child;
        }
        if (windows->heap.ends[least].end >= end.end) break;
        put(windows, place, windows->heap.ends[least]);
        place = least;
    }
    put(windows, place, end);
}

// Adds the end of a node that is in the near tier now. If the node's former end is still in the
// heap, that entry is replaced: a node has at most one entry.
void hrt_windows_put(struct hrt_windows *windows, uint32_t index) HRT_NONBLOCKING {
    struct hrt_window_end end = {.end = windows->end_of.keys[index], .index = index};
    uint32_t place = windows->entry_of.indices[index];
    if (place >= windows->count || windows->heap.ends[place].index != index) {
        rise(windows, windows->count++, end);
    } else if (end.end < windows->heap.ends[place].end) {
        rise(windows, place, end);
    } else {
        sink(windows, place, end);
    }
}

// Returns whether the entry is the end of an armed timer's window. The timer need not be in the
// near tier.
static bool is_open(const struct hrt_queue *queue, const struct hrt_class *class,
                    struct hrt_window_end end) {
    const struct hrt_node *node = hrt_node_at(queue, end.index);
    return end.index <= queue->slots && hrt_node_is_armed(node) &&
           hrt_node_class(node) == class->base && class->windows->end_of.keys[end.index] == end.end;
}

static void keep_near_only(struct hrt_queue *queue, struct hrt_class *class) {
    class->windows->count = 0;
    for (uint32_t index = class->run_first; index != 0; index = hrt_node_at(queue, index)->next) {
        hrt_windows_put(class->windows, index);
    }
    for (uint32_t place = 0; place < class->heap_count; place++) {
        hrt_windows_put(class->windows, class->heap.indices[place]);
    }
}

// Gives back the elements of the nodes from `first` to before `end`, which are not queued, and the
// unused part of the heap's array. Gives back `entry_of` only if the heap has no stale entries,
// which could be those of these nodes.
void hrt_windows_trim(struct hrt_queue *queue, struct hrt_class *class, uint32_t first,
                      uint32_t end) {
    struct hrt_windows *windows = class->windows;
    hrt_room_give_back(&windows->end_of, sizeof(uint64_t), first, end);
    if (windows->count > class->near_count && class->near_count <= HRT_MOVES_PER_CALL)
        keep_near_only(queue, class);
    if (windows->count == class->near_count) {
        hrt_room_give_back(&windows->entry_of, sizeof(uint32_t), first, end);
    }
    uint32_t room = windows->heap.blocks * HRT_BLOCK_NODES;
    hrt_room_give_back(&windows->heap, sizeof(struct hrt_window_end), windows->count, room);
}

// Returns the earliest end of the near nodes' windows, HRT_KEY_NEVER if there is none. If no moves
// are left, the result may be too early.
uint64_t hrt_windows_end(struct hrt_queue *queue, struct hrt_class *class,
                         int *moves_left) HRT_NONBLOCKING {
    struct hrt_windows *windows = class->windows;
    if (windows->count > 2 * class->near_count + MIN_STALE_ENDS &&
        class->near_count <= HRT_MOVES_PER_CALL) {
        *moves_left -= (int)class->near_count;
        keep_near_only(queue, class);
    }
    while (windows->count > 0 && !is_open(queue, class, windows->heap.ends[0])) {
        if (--*moves_left < 0) break;
        windows->count--;
        if (windows->count > 0) sink(windows, 0, windows->heap.ends[windows->count]);
    }
    return windows->count == 0 ? HRT_KEY_NEVER : windows->heap.ends[0].end;
}
#endif

// The windows of timers with tolerance. Their lane is one by deadline like the others; what it has beside is the end of
// each node's window, and a heap of the ends of those that are near. Timers in the wheel need no place there: their
// windows end after they begin, and those that begin before the earliest end are near (hrt_lane_settle).
//
// An end stays in the heap when its timer is disarmed or moved, until it is met as the earliest, or until those that
// are of no use are the most: a wake-up takes nearly all that is near, and one by one would cost more than all at once.
#include <errno.h>

#include "hrt_queue_parts.h"

enum { FAN = 4, USELESS = 16 };

struct hrt_windows *hrt_windows_create(void) {
    struct hrt_windows *windows = hrt_pages_map(sizeof *windows);
    if (windows != NULL) windows->wake = HRT_KEY_NEVER;
    return windows;
}

static size_t of_bytes(uint32_t blocks) { return (size_t)blocks * HRT_BLOCK_NODES * sizeof(struct hrt_window); }
static size_t ends_bytes(uint32_t blocks) { return (size_t)blocks * HRT_BLOCK_NODES * sizeof(struct hrt_window_end); }

void hrt_windows_destroy(struct hrt_windows *windows) {
    if (windows == NULL) return;
    hrt_pages_unmap(windows->of, of_bytes(windows->blocks));
    hrt_pages_unmap(windows->ends, ends_bytes(windows->blocks));
    hrt_pages_unmap(windows, sizeof *windows);
}

int hrt_windows_reserve(struct hrt_windows *windows, uint32_t blocks) {
    if (blocks <= windows->blocks) return 0;
    struct hrt_window *of = hrt_pages_resize(windows->of, of_bytes(windows->blocks), of_bytes(blocks));
    if (of == NULL) return -ENOMEM;
    windows->of = of;
    struct hrt_window_end *ends = hrt_pages_resize(windows->ends, ends_bytes(windows->blocks), ends_bytes(blocks));
    if (ends == NULL) return -ENOMEM;
    windows->ends = ends;
    windows->blocks = blocks;
    return 0;
}

size_t hrt_windows_bytes(const struct hrt_windows *windows) {
    return hrt_pages_resident(windows, sizeof *windows) + hrt_pages_resident(windows->of, of_bytes(windows->blocks)) +
           hrt_pages_resident(windows->ends, ends_bytes(windows->blocks));
}

static void put(struct hrt_windows *windows, uint32_t place, struct hrt_window_end end) {
    windows->ends[place] = end;
    windows->of[end.index].entry = place;
}

static void rise(struct hrt_windows *windows, uint32_t place, struct hrt_window_end end) {
    while (place > 0) {
        uint32_t parent = (place - 1) / FAN;
        if (end.end >= windows->ends[parent].end) break;
        put(windows, place, windows->ends[parent]);
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
            if (windows->ends[child].end < windows->ends[least].end) least = child;
        }
        if (windows->ends[least].end >= end.end) break;
        put(windows, place, windows->ends[least]);
        place = least;
    }
    put(windows, place, end);
}

// The node is near now. Its last end may still have a place, so that there is one place for a node at most.
void hrt_windows_put(struct hrt_windows *windows, uint32_t index) HRT_NONBLOCKING {
    struct hrt_window_end end = {.end = windows->of[index].end, .index = index};
    uint32_t place = windows->of[index].entry;
    if (place >= windows->count || windows->ends[place].index != index) {
        rise(windows, windows->count++, end);
    } else if (end.end < windows->ends[place].end) {
        rise(windows, place, end);
    } else {
        sink(windows, place, end);
    }
}

// Whether a timer's window ends then. It need not be near: the end is as good.
static bool is_open(const struct hrt_queue *queue, const struct hrt_lane *lane, struct hrt_window_end end) {
    const struct hrt_node *node = hrt_node_at(queue, end.index);
    return hrt_node_is_armed(node) && hrt_node_lane(node) == lane->base &&
           lane->windows->of[end.index].end == end.end;
}

static void keep_near_only(struct hrt_queue *queue, struct hrt_lane *lane) {
    lane->windows->count = 0;
    for (uint32_t index = lane->run_first; index != 0; index = hrt_node_at(queue, index)->next) {
        hrt_windows_put(lane->windows, index);
    }
    for (uint32_t place = 0; place < lane->heap_count; place++) hrt_windows_put(lane->windows, lane->heap[place]);
}

// The earliest end of the windows of those that are near, HRT_KEY_NEVER if there is none; with no moves left it may be
// too early.
uint64_t hrt_windows_end(struct hrt_queue *queue, struct hrt_lane *lane, int *moves_left) HRT_NONBLOCKING {
    struct hrt_windows *windows = lane->windows;
    if (windows->count > 2 * lane->near_count + USELESS && lane->near_count <= HRT_MOVES_PER_CALL) {
        *moves_left -= (int)lane->near_count;
        keep_near_only(queue, lane);
    }
    while (windows->count > 0 && !is_open(queue, lane, windows->ends[0])) {
        if (--*moves_left < 0) break;
        windows->count--;
        if (windows->count > 0) sink(windows, 0, windows->ends[windows->count]);
    }
    return windows->count == 0 ? HRT_KEY_NEVER : windows->ends[0].end;
}

// A lane: nodes on their way from the wheel, through the near tier, to being due; and what is known
// of the earliest.
#include <errno.h>

#include "hrt_queue_lane.h"
#include "hrt_queue_pages.h"

// How many nodes a question may look at to answer exactly, before it gives a bound.
enum { MOVES_PER_QUESTION = HRT_MOVES_PER_CALL < 64 ? HRT_MOVES_PER_CALL : 64 };

void hrt_lane_init(struct hrt_lane *lane, enum hrt_lane_number number, uint64_t tick) {
    lane->tick = tick;
    lane->look_tick = UINT64_MAX;
    lane->bound = HRT_KEY_NEVER;
    lane->base = (uint32_t)number << HRT_PLACE_LANE_SHIFT;
    lane->crowd = HRT_NOWHERE;
    lane->earliest[HRT_NOWHERE] = HRT_KEY_NEVER;
}

// The lane, made if there is none yet. NULL if there is no memory for it.
struct hrt_lane *hrt_lane_make(struct hrt_queue *queue, enum hrt_lane_number number) {
    if (queue->lanes[number] != NULL) return queue->lanes[number];
    struct hrt_lane *lane = hrt_pages_map(sizeof *lane);
    if (lane == NULL) return NULL;
    hrt_lane_init(lane, number, queue->lane.tick);
    if (number == HRT_TOLERANT) lane->windows = hrt_windows_create();
    if ((number == HRT_TOLERANT && lane->windows == NULL) ||
        hrt_lane_reserve(lane, queue->blocks_used) != 0) {
        hrt_lane_release(lane);
        hrt_pages_unmap(lane, sizeof *lane);
        return NULL;
    }
    queue->lanes[number] = lane;
    return lane;
}

// Room for the nodes of so many blocks. 0 or -ENOMEM.
int hrt_lane_reserve(struct hrt_lane *lane, uint32_t blocks) {
    if (lane->windows != NULL && hrt_windows_reserve(lane->windows, blocks) != 0) return -ENOMEM;
    return hrt_room_reserve(&lane->heap, blocks, sizeof(uint32_t));
}

void hrt_lane_release(struct hrt_lane *lane) {
    hrt_windows_destroy(lane->windows);
    hrt_room_release(&lane->heap, sizeof(uint32_t));
}

// Gives back the room of the heap that is not used, and the levels of the wheel in which nothing is
// filed.
void hrt_lane_trim(struct hrt_lane *lane) {
    hrt_room_give_back(&lane->heap, sizeof(uint32_t), lane->heap_count,
                       lane->heap.blocks * HRT_BLOCK_NODES);
    hrt_wheel_trim(lane);
}

// Without the lane itself.
size_t hrt_lane_bytes(const struct hrt_lane *lane) {
    return hrt_room_bytes(&lane->heap, sizeof(uint32_t)) +
           (lane->windows == NULL ? 0 : hrt_windows_bytes(lane->windows));
}

static inline void raise(uint64_t *bound, uint64_t key) {
    if (key > *bound) *bound = key;
}

// Makes the bound exact, and the earliest end of a window. False if the moves were used up before;
// what was done then need not be done again.
//
// In the lane of timers with tolerance every timer that begins before the earliest end goes near:
// it will be given out at that wake-up, if not before.
bool hrt_lane_settle(struct hrt_queue *queue, struct hrt_lane *lane,
                     int *moves_left) HRT_NONBLOCKING {
    if (lane->certainty == HRT_EXACT) return true;
    if (lane->to_file_count != 0) hrt_wheel_file_listed(queue, lane);
    while (*moves_left > 0) {
        if (lane->opening != 0) {
            hrt_wheel_open(queue, lane, moves_left);
            continue;
        }
        if (lane->crowd != HRT_NOWHERE) {
            hrt_wheel_spread(queue, lane, moves_left);
            continue;
        }
        struct hrt_wheel_first first = hrt_wheel_first(queue, lane);
        uint64_t near = hrt_near_key(queue, lane);
        uint64_t limit = lane->windows == NULL ? near : hrt_windows_end(queue, lane, moves_left);
        if (*moves_left < 0) return false;
        if (first.key >= limit || (lane->windows == NULL && first.is_exact)) {
            lane->bound = near < first.key ? near : first.key;
            if (lane->windows != NULL) hrt_windows_settled(lane->windows, limit);
            lane->certainty = HRT_EXACT;
            return true;
        }
        hrt_wheel_look_into(queue, lane, first.place, limit, moves_left);
    }
    return false;
}

uint64_t hrt_lane_bound(struct hrt_queue *queue, struct hrt_lane *lane) HRT_NONBLOCKING {
    if (lane->certainty != HRT_STALE) return lane->bound;
    if (lane->to_file_count != 0) hrt_wheel_file_listed(queue, lane);
    uint64_t near = hrt_near_key(queue, lane);
    if (lane->opening != 0) {
        // What is still in the opened buckets is not sorted yet; it lies in the present tick or
        // after it.
        uint64_t present = lane->tick << HRT_TICK_BITS;
        raise(&lane->bound, near < present ? near : present);
        return lane->bound;
    }
    struct hrt_wheel_first first = hrt_wheel_first(queue, lane);
    uint64_t old = lane->bound;
    raise(&lane->bound, near < first.key ? near : first.key);
    bool is_exact = lane->windows == NULL && (near <= first.key || first.is_exact);
    lane->certainty = is_exact ? HRT_EXACT : HRT_LOWER;
    if (!is_exact && lane->bound == old) {
        int moves_left = MOVES_PER_QUESTION;
        hrt_lane_settle(queue, lane, &moves_left);
    }
    return lane->bound;
}

// No armed timer of the lane may be given out later: the earliest end of a window, or a bound of
// it.
uint64_t hrt_lane_wake(struct hrt_queue *queue, struct hrt_lane *lane) HRT_NONBLOCKING {
    if (lane->windows == NULL) return hrt_lane_bound(queue, lane);
    int moves_left = MOVES_PER_QUESTION;
    if (!hrt_lane_settle(queue, lane, &moves_left))
        raise(&lane->windows->wake, hrt_lane_bound(queue, lane));
    return lane->windows->wake;
}

// Time has come to now_key. If all that was due is given out, nothing that is armed is due before
// the next instant.
void hrt_lane_told(struct hrt_lane *lane, uint64_t now_key, bool is_served) HRT_NONBLOCKING {
    if (lane->bound > now_key) return;
    lane->certainty = HRT_STALE;
    if (!is_served || now_key == HRT_KEY_NEVER) return;
    raise(&lane->bound, now_key + 1);
    if (lane->windows != NULL) raise(&lane->windows->wake, now_key + 1);
}

// Moves the present on, to the next bucket to be opened or, if none begins by then, to now_tick.
static bool advance(struct hrt_lane *lane, uint64_t now_tick) {
    if (now_tick <= lane->tick) return false;
    uint8_t levels = 0;
    if (now_tick >= lane->look_tick) hrt_wheel_next_tick(lane, &lane->look_tick, &levels);
    if (lane->look_tick > now_tick) {
        lane->tick = now_tick;
        return false;
    }
    lane->tick = lane->look_tick;
    lane->opening = levels;
    return true;
}

// Gives the first armed node with key <= now_key, still filed; 0 if there is none. False if the
// moves were used up before it was known.
bool hrt_lane_due(struct hrt_queue *queue, struct hrt_lane *lane, uint64_t now_key, int *moves_left,
                  uint32_t *out_first) HRT_NONBLOCKING {
    *out_first = 0;
    if (lane->to_file_count != 0) hrt_wheel_file_listed(queue, lane);
    for (;;) {
        if (lane->opening != 0) {
            lane->certainty = HRT_STALE;
            hrt_wheel_open(queue, lane, moves_left);
            if (lane->opening != 0) return false;
        }
        uint32_t first = hrt_near_first(queue, lane);
        uint64_t key = first == 0 ? HRT_KEY_NEVER : hrt_node_at(queue, first)->key;
        // Beyond the present tick, something in the wheel may come before what is near.
        if (first == 0 || key >> HRT_TICK_BITS > lane->tick) {
            if (*moves_left <= 0) return false;
            if (advance(lane, now_key >> HRT_TICK_BITS)) {
                --*moves_left;
                continue;
            }
        }
        if (key <= now_key) *out_first = first;
        return true;
    }
}

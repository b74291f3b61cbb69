#ifndef HRT_QUEUE_H
#define HRT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_nonblocking.h"

// Pending timers, by deadline. It reads no clock and has no thread: the caller passes the time in
// and takes the due timers, in order of (deadline, sequence), exact to the nanosecond. The caller
// keeps its own data of a timer in an array, indexed by slot. How it works: hrt_queue_node.h.
//
// Arming, moving and disarming are O(1) and touch one cache line of a timer in most cases. No call
// but hrt_queue_destroy does work that grows with the number of timers: after a large jump of time,
// or for a crowd of timers in one instant, hrt_queue_take_due spreads the work over several calls.
//
// Time may jump forward by centuries; the years between are not walked. It may also go back, as a
// wall clock's does: the order stays exact, and timers armed before the latest time ever passed
// cost O(log n) until time has caught up. Before the first hrt_queue_take_due the queue's time is
// INT64_MIN: correct, but slower for the timers armed until then. Call it once, with a capacity of
// 0, before arming many.
typedef struct hrt_queue hrt_queue;

// One timer. The token stays the same however often the timer is armed. It is stale once the timer
// was removed, also when the slot has a new timer: a slot that has used up its 2^31 - 1 generations
// is not used again. The zero token is never valid.
typedef struct {
    uint32_t slot;
    uint32_t generation;
} hrt_token;

typedef struct {
    int64_t deadline_ns;
    hrt_token token;
    uint64_t arming;  // sequence: the queue's armings counted from 1, the order of equal deadlines
} hrt_due;

// 0 or -ENOMEM.
int hrt_queue_create(hrt_queue **out_queue);
void hrt_queue_destroy(hrt_queue *queue);

// A new timer, not armed. Slots are small numbers, dense from 0, used again after removal.
// 0, -ENOMEM, or -ENOSPC at 2^28 - 2 timers. O(1) amortised.
int hrt_queue_add(hrt_queue *queue, hrt_token *out_token);

// hrt_queue_add and hrt_queue_arm_slot_tolerant in one. 0, -ENOMEM or -ENOSPC.
int hrt_queue_schedule(hrt_queue *queue, int64_t deadline_ns, int64_t tolerance_ns,
                       hrt_token *out_token);

// Disarms and forgets the timer. False if the token is stale; nothing happens then. O(1).
bool hrt_queue_remove(hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

bool hrt_queue_is_live(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

// False if the token is stale.
bool hrt_queue_is_armed(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

// The functions below name a timer by its slot, which must be live: only its owner removes it, and
// so knows that, or calls hrt_queue_is_live. They compare no generation.

// Arms the timer, or moves it if it is armed. Among equal deadlines it then comes last. HRT_NEVER
// keeps it armed for ever. Cheapest when the deadline only moves later: a store.
void hrt_queue_arm_slot(hrt_queue *queue, uint32_t slot, int64_t deadline_ns) HRT_NONBLOCKING;

// The same; the timer may be taken at any time in deadline_ns ... deadline_ns + tolerance_ns, see
// hrt_queue_next_wake_ns. Negative tolerance counts as 0. A tolerance above 0 may allocate, and
// counts as 0 when memory is short.
void hrt_queue_arm_slot_tolerant(hrt_queue *queue, uint32_t slot, int64_t deadline_ns,
                                 int64_t tolerance_ns);

// The same for a precise timer, which its caller waits for more exactly than for others; it is
// precise until it is armed by another function. All kinds share one order;
// hrt_queue_next_precise_ns returns the earliest precise deadline. The first precise timer of a
// queue allocates; it is armed as an ordinary one if memory is short.
void hrt_queue_arm_slot_precise(hrt_queue *queue, uint32_t slot, int64_t deadline_ns);

// True if the timer was armed.
bool hrt_queue_disarm_slot(hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;
int64_t hrt_queue_slot_deadline_ns(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;
bool hrt_queue_is_armed_slot(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

// The earliest armed deadline; HRT_NEVER if nothing is armed. Exact after hrt_queue_normalize
// returned false, until the earliest timer is disarmed or moved later. Otherwise a lower bound: a
// caller that wakes then and calls hrt_queue_take_due may find nothing due, and has raised the
// bound.
int64_t hrt_queue_next_ns(hrt_queue *queue) HRT_NONBLOCKING;

// Whether an armed deadline may be earlier than the instant. False is certain, and mostly known
// without a search for the earliest.
bool hrt_queue_has_before(hrt_queue *queue, int64_t instant_ns) HRT_NONBLOCKING;

// The latest instant to wake at so that no armed timer fires later than its deadline plus its
// tolerance: the earliest end of all windows. The window of a timer without tolerance is its
// deadline. HRT_NEVER if nothing is armed. Exact, or a lower bound, as hrt_queue_next_ns.
int64_t hrt_queue_next_wake_ns(hrt_queue *queue) HRT_NONBLOCKING;

// The earliest deadline armed by hrt_queue_arm_slot_precise; HRT_NEVER if there is none. Exact, or
// a lower bound, as hrt_queue_next_ns.
int64_t hrt_queue_next_precise_ns(hrt_queue *queue) HRT_NONBLOCKING;

// Does a bounded part of the work that makes the three results above exact. True if there is more
// to do. A thread that is about to sleep calls it until it returns false: then no wake-up is in
// vain. It unfiles what disarmed and moved timers left behind, once for each: O(1) amortised for
// each arming. (O(log n) in a crowd: more than 32 timers in the bucket of the earliest one, too
// close together to be told apart at their distance.)
bool hrt_queue_normalize(hrt_queue *queue) HRT_NONBLOCKING;

// Disarms the timers with deadline_ns <= now_ns, earliest first, equal ones in order of arming, and
// writes them to out_due. Returns how many. Every deadline written is <= now_ns, and none that was
// left is earlier than one written.
//
// The call ends when nothing more is due, when out_due is full, or when it has moved as many timers
// within the queue as one call may. So it can return fewer than `capacity`, even 0, while timers
// are still due: call again as long as hrt_queue_next_ns(queue) <= now_ns. Once nothing is due,
// hrt_queue_next_ns is later than now_ns.
size_t hrt_queue_take_due(hrt_queue *queue, int64_t now_ns, hrt_due *out_due,
                          size_t capacity) HRT_NONBLOCKING;

// Notes what taking and arming that timer touches, for hrt_prefetch_fire on the same thread.
void hrt_queue_note_touched(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

// Has the processor fetch one more of the timers that the next hrt_queue_take_due may give. A hint,
// allowed at any time; of use once for each timer of the batch before, whose handlers take longer
// than a miss.
void hrt_queue_fetch_next(hrt_queue *queue) HRT_NONBLOCKING;

// The sequence of the latest arming; 0 before the first.
uint64_t hrt_queue_last_arming(const hrt_queue *queue) HRT_NONBLOCKING;

// Gives memory of removed timers back to the system. One call does a bounded part of the work:
// about 1,024 timers, or one block. True if there is more to do. After a peak of n timers it takes
// about n / 1,024 calls.
//
// Memory is given back in blocks of 2 MiB (65,536 slots), once all timers of a block were removed;
// of the first block all beyond the last timer in it. Slots come from the lowest block first, so
// that the high ones empty after a peak. At the end the heaps, the ends of windows and the empty
// levels of the wheel are given back.
bool hrt_queue_trim(hrt_queue *queue);

// Whether trimming is worth while: since the last trimming ended there were at least 4,096 timers
// at once, and three quarters of the peak are removed. O(1): call it before every sleep, and then
// trim until nothing is left or other work comes.
bool hrt_queue_wants_trim(const hrt_queue *queue) HRT_NONBLOCKING;

// Timers that exist.
size_t hrt_queue_count(const hrt_queue *queue) HRT_NONBLOCKING;

// Bytes held, without the pages that were reserved and never written.
size_t hrt_queue_memory_bytes(const hrt_queue *queue);

#endif

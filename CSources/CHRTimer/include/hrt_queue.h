#ifndef HRT_QUEUE_H
#define HRT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_nonblocking.h"

// A queue of pending timers, ordered by deadline. It reads no clock and has no thread: the caller
// passes in the time and takes the due timers, in order of (deadline, sequence), exact to the
// nanosecond. The caller keeps its own data for each timer in an array indexed by slot.
// hrt_queue_node.h explains how the queue works.
//
// For all functions below: instants and durations are nanoseconds, instants on whatever clock the
// caller passes in; any int64_t is allowed. A queue is used by one thread at a time, whichever it
// is: its owner holds a lock. A status is 0 or the negative errno that the function names. What is
// marked HRT_NONBLOCKING neither allocates nor makes a system call.
//
// Arming, rescheduling and disarming are O(1). No function except hrt_queue_destroy and
// hrt_queue_memory_bytes does work that grows with the number of timers: after a large jump of
// time, or for a crowd of timers at one instant, hrt_queue_take_due spreads the work over several
// calls.
//
// Time may jump forward by centuries; the queue does not walk through the years between. Time may
// also go back, as a wall clock's does: the order stays exact, and timers armed for a deadline
// before the latest time ever passed in cost O(log n) until time has caught up. Before the first
// hrt_queue_take_due the queue's time is INT64_MIN: the queue works correctly then, but arming is
// slower. So call hrt_queue_take_due once, with a capacity of 0, before arming many timers.
typedef struct hrt_queue hrt_queue;

// Identifies one timer. A token stays the same however often its timer is armed. It becomes stale
// when the timer is removed, and stays so when the slot gets a new timer: a slot that has used up
// its 2^31 - 1 generations is not used again. The zero token is never valid.
typedef struct {
    uint32_t slot;
    uint32_t generation;
} hrt_token;

typedef struct {
    int64_t deadline_ns;
    hrt_token token;
    uint64_t sequence;  // the queue's number of this arming, from 1; orders equal deadlines
} hrt_due;

// Creates an empty queue, which hrt_queue_destroy frees. Returns 0 or -ENOMEM.
int hrt_queue_create(hrt_queue **out_queue);
// Frees the queue and its timers, armed or not.
void hrt_queue_destroy(hrt_queue *queue);

// Adds a timer, not armed yet; hrt_queue_remove or hrt_queue_destroy frees it. Slots are small
// numbers, dense from 0, and are used again after removal, low ones first. May allocate: returns 0,
// -ENOMEM, or -ENOSPC at 2^28 - 1 timers. O(1) amortised.
int hrt_queue_add(hrt_queue *queue, hrt_token *out_token);

// Does hrt_queue_add and hrt_queue_arm_slot_tolerant, one after the other. Returns 0, -ENOMEM or
// -ENOSPC.
int hrt_queue_schedule(hrt_queue *queue, int64_t deadline_ns, int64_t tolerance_ns,
                       hrt_token *out_token);

// Disarms and removes the timer. Returns false, and does nothing, if the token is stale. O(1).
bool hrt_queue_remove(hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

// Returns false if the token is stale.
bool hrt_queue_is_live(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

// Returns false if the timer is not armed, or if the token is stale.
bool hrt_queue_is_armed(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

// The functions below name a timer by its slot, and compare no generation. The slot must be live:
// either the caller owns the timer, so that nobody else removes it, or the caller checks
// hrt_queue_is_live first.

// Arms the timer, or reschedules it if it is armed. It then comes last among the timers with an
// equal deadline. A deadline in the past is due at once; HRT_NEVER, which is INT64_MAX, keeps the
// timer armed for ever. Moving the deadline later is cheapest: it only writes to the timer.
void hrt_queue_arm_slot(hrt_queue *queue, uint32_t slot, int64_t deadline_ns) HRT_NONBLOCKING;

// Arms the timer like hrt_queue_arm_slot, but with a tolerance: the timer may be taken at any time
// in deadline_ns ... deadline_ns + tolerance_ns, see hrt_queue_next_wake_ns. A negative tolerance
// counts as 0. A tolerance above 0 may allocate, and counts as 0 when memory is short.
void hrt_queue_arm_slot_tolerant(hrt_queue *queue, uint32_t slot, int64_t deadline_ns,
                                 int64_t tolerance_ns);

// Arms the timer like hrt_queue_arm_slot, but as a precise timer, for which the caller waits more
// exactly than for others. It stays precise until another function arms it. Timers of all kinds
// share one order; hrt_queue_next_precise_ns returns the earliest precise deadline. The first
// precise timer of a queue allocates; it is armed as an ordinary timer if memory is short.
void hrt_queue_arm_slot_precise(hrt_queue *queue, uint32_t slot, int64_t deadline_ns);

// Disarms the timer. Returns true if it was armed.
bool hrt_queue_disarm_slot(hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

// Returns the end of the timer's window, which is its deadline if it has no tolerance; HRT_NEVER
// if it is not armed.
int64_t hrt_queue_slot_wake_ns(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

// Returns whether the timer is armed.
bool hrt_queue_is_armed_slot(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

// Returns the earliest armed deadline; HRT_NEVER if nothing is armed. It is exact after
// hrt_queue_normalize has returned false, until the earliest timer is disarmed or moved later.
// Otherwise it is a lower bound: a caller that wakes at that time and calls hrt_queue_take_due may
// find nothing due, but this call raises the bound.
int64_t hrt_queue_next_ns(hrt_queue *queue) HRT_NONBLOCKING;

// Returns whether an armed deadline may be earlier than the instant. The answer false is certain,
// and is mostly known without a search for the earliest deadline.
bool hrt_queue_has_before(hrt_queue *queue, int64_t instant_ns) HRT_NONBLOCKING;

// Returns the latest instant at which the caller may wake so that no armed timer fires later than
// its deadline plus its tolerance: the earliest end of all windows. The window of a timer without
// tolerance is its deadline. HRT_NEVER if nothing is armed. Exact or a lower bound, like
// hrt_queue_next_ns.
int64_t hrt_queue_next_wake_ns(hrt_queue *queue) HRT_NONBLOCKING;

// Returns the earliest deadline armed by hrt_queue_arm_slot_precise; HRT_NEVER if there is none.
// Exact or a lower bound, like hrt_queue_next_ns.
int64_t hrt_queue_next_precise_ns(hrt_queue *queue) HRT_NONBLOCKING;

// Does a bounded part of the work that makes the results of hrt_queue_next_ns,
// hrt_queue_next_wake_ns and hrt_queue_next_precise_ns exact. Returns true if there is more to do.
// A thread that is about to sleep calls it until it returns false: then no wake-up is in vain. It
// dequeues each node that a disarmed or rescheduled timer left behind, once: O(1) amortised for
// each arming. (O(log n) in a crowd: more than 32 timers in the bucket of the earliest one, which
// are too close together for the wheel to tell them apart at their distance.)
bool hrt_queue_normalize(hrt_queue *queue) HRT_NONBLOCKING;

// Disarms the timers with deadline_ns <= now_ns and writes them to out_due: earliest first, those
// with equal deadlines in order of arming. Returns how many it wrote. Every deadline written is <=
// now_ns, and no timer left in the queue is earlier than one written.
//
// The call ends when nothing more is due, when out_due is full, or when it has moved as many timers
// within the queue as one call may. So it can return fewer than `capacity`, even 0, while timers
// are still due: call again as long as hrt_queue_next_ns(queue) <= now_ns. Once nothing is due,
// hrt_queue_next_ns is later than now_ns.
size_t hrt_queue_take_due(hrt_queue *queue, int64_t now_ns, hrt_due *out_due,
                          size_t capacity) HRT_NONBLOCKING;

// Returns the sequence of the latest arming; 0 before the first.
uint64_t hrt_queue_last_sequence(const hrt_queue *queue) HRT_NONBLOCKING;

// Gives memory of removed timers back to the system, in chunks of 2,048 slots: each once all of its
// timers have been removed, except the first chunk. Slots come from the lowest chunk with a free
// one, so that the high chunks empty after a peak. At the end the room of the heaps and the empty
// levels of the wheel are given back. One call does a bounded part of the work, about a chunk.
// Returns true if there is more to do.
bool hrt_queue_trim(hrt_queue *queue);

// Returns whether trimming is worth while: since the last trimming ended, at least 4,096 timers
// existed at once, and three quarters of that peak are removed. So a queue that swings round a
// boundary does not give back and allocate each time. O(1): call it before every sleep, and then
// trim until there is nothing left to do or until other work comes.
bool hrt_queue_wants_trim(const hrt_queue *queue) HRT_NONBLOCKING;

// Returns the number of timers that exist.
size_t hrt_queue_count(const hrt_queue *queue) HRT_NONBLOCKING;

// Returns the bytes held, without the pages that were reserved and never written. Asks the system
// about every page: for tests and benchmarks.
size_t hrt_queue_memory_bytes(const hrt_queue *queue);

#endif

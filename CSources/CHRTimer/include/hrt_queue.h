// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_QUEUE_H
#define HRT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_nonblocking.h"

#ifdef __cplusplus
extern "C" {
#endif

// A queue of pending timers, ordered by deadline. It reads no clock and has no thread: the caller
// passes in the time and takes the due timers, in order of (deadline, sequence), exact to the
// nanosecond. What the caller keeps of each timer, its record, lies in the timer's slot.
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

// The greatest alignment that a record may need, in bytes.
#define HRT_RECORD_ALIGNMENT 64

// Creates an empty queue, which hrt_queue_destroy frees. Each slot has room for a record of
// `record_bytes`: a multiple of the alignment that the record needs, or 0 for none. Returns 0 or
// -ENOMEM.
int hrt_queue_create(size_t record_bytes, hrt_queue **out_queue);
// Frees the queue and its timers, armed or not. What their records own is the caller's to free
// before.
void hrt_queue_destroy(hrt_queue *queue);

// Adds a timer, not armed yet; hrt_queue_remove or hrt_queue_destroy frees it. The bytes of its
// record have no defined value. Slots are small numbers, dense from 0, and are used again after
// removal, low ones first. May allocate: returns 0, -ENOMEM, or -ENOSPC at 2^28 - 1 timers. O(1)
// amortised.
int hrt_queue_add(hrt_queue *queue, hrt_token *out_token);

// Disarms and removes the timer. What its record owns is the caller's to free before. Returns
// false, and does nothing, if the token is stale. O(1).
bool hrt_queue_remove(hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

// Returns false if the token is stale.
bool hrt_queue_is_live(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

// Returns false if the timer is not armed, or if the token is stale.
bool hrt_queue_is_armed(const hrt_queue *queue, hrt_token token) HRT_NONBLOCKING;

// The functions below name a timer by its slot, and compare no generation. The slot must be live:
// either the caller owns the timer, so that nobody else removes it, or the caller checks
// hrt_queue_is_live first.

// Returns the timer's record, which stays at its address until the timer is removed. The queue
// neither reads nor writes it.
void *hrt_queue_record(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

// How a timer is waited for. Zeroed for an ordinary timer.
typedef struct {
    int64_t tolerance_ns;  // how much later than its deadline it may be taken, see
                           // hrt_queue_next_wake_ns; a negative one counts as 0
    bool is_precise;       // the caller waits for it more exactly than for others, see
                           // hrt_queue_next_precise_ns; it then has no tolerance
} hrt_arm_options;

// Arms the timer, or reschedules it if it is armed. It then comes last among the timers with an
// equal deadline, whatever their options. A deadline in the past is due at once; HRT_NEVER, which
// is INT64_MAX, keeps the timer armed for ever. Moving the deadline later is cheapest: it only
// writes to the timer. The options hold until the timer is armed again. Only the first precise
// timer of a queue and the first with a tolerance allocate; such a timer is armed as an ordinary
// one if memory is short.
void hrt_queue_arm(hrt_queue *queue, uint32_t slot, int64_t deadline_ns, hrt_arm_options options);

// Disarms the timer. Returns true if it was armed.
bool hrt_queue_disarm(hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

// Returns the end of the timer's window, which is its deadline if it has no tolerance; HRT_NEVER
// if it is not armed.
int64_t hrt_queue_slot_wake_ns(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

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

// Returns the earliest deadline of a precise timer; HRT_NEVER if there is none. Exact or a lower
// bound, like hrt_queue_next_ns.
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

// Returns the slot of the first timer from `slot` on, whether it is armed or not; UINT32_MAX if
// there is none. A walk over all timers takes O(slots ever used at once).
uint32_t hrt_queue_next_slot(const hrt_queue *queue, uint32_t slot) HRT_NONBLOCKING;

// Returns the number of timers that exist.
size_t hrt_queue_count(const hrt_queue *queue) HRT_NONBLOCKING;

// Returns the bytes held, without the pages that were reserved and never written. Asks the system
// about every page: for tests and benchmarks.
size_t hrt_queue_memory_bytes(const hrt_queue *queue);

#ifdef __cplusplus
}
#endif

#endif

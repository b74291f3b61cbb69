#ifndef HRT_QUEUE_H
#define HRT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Pending timers, by deadline. Knows no clock and no thread: it is told the time, and gives back what is due, in order of
// (deadline, arming), exact to the nanosecond. The caller keeps whatever belongs to a timer in an array of its own,
// indexed by slot.
typedef struct hrt_queue hrt_queue;

// One timer. Stays the same however often the timer is armed; stale once the timer was removed, also after the slot was
// given to another timer. The zero token is never valid.
typedef struct {
    uint32_t slot;
    uint32_t generation;
} hrt_token;

typedef struct {
    int64_t deadline_ns;
    hrt_token token;
} hrt_due;

// 0 or -ENOMEM.
int hrt_queue_create(hrt_queue **out_queue);
void hrt_queue_destroy(hrt_queue *queue);

// A new timer, not armed. Slots are small numbers, dense from 0, used again after removal.
// 0, -ENOMEM, or -ENOSPC at 2^32 - 2 timers. O(1) amortised.
int hrt_queue_add(hrt_queue *queue, hrt_token *out_token);

// Disarms and forgets the timer. False if the token is stale; nothing happens then. O(1).
bool hrt_queue_remove(hrt_queue *queue, hrt_token token);

bool hrt_queue_is_live(const hrt_queue *queue, hrt_token token);

// Arms the timer, or moves it if it is armed: in the order of equal deadlines it then comes last.
// The timer may be given out at any time in deadline_ns ... deadline_ns + tolerance_ns; see hrt_queue_next_wake_ns.
// False if the token is stale. HRT_NEVER keeps it armed for ever. Negative tolerance counts as 0.
bool hrt_queue_arm(hrt_queue *queue, hrt_token token, int64_t deadline_ns, int64_t tolerance_ns);

// True if the timer was armed. False if it was not, or if the token is stale.
bool hrt_queue_disarm(hrt_queue *queue, hrt_token token);

bool hrt_queue_is_armed(const hrt_queue *queue, hrt_token token);

// A lower bound of the earliest armed deadline: exact, or at most one early look before it becomes so. HRT_NEVER if nothing
// is armed.
int64_t hrt_queue_next_ns(hrt_queue *queue);

// The latest instant to wake at such that no armed timer is given out later than its deadline plus its tolerance:
// the earliest end of all windows. HRT_NEVER if nothing is armed.
int64_t hrt_queue_next_wake_ns(hrt_queue *queue);

// Disarms the timers with deadline_ns <= now_ns, earliest first, equal ones in order of arming, and writes them to out_due.
// Returns how many; if that is `capacity`, there may be more. Every deadline written is <= now_ns.
size_t hrt_queue_take_due(hrt_queue *queue, int64_t now_ns, hrt_due *out_due, size_t capacity);

// Timers that exist, and timers that are armed.
size_t hrt_queue_count(const hrt_queue *queue);
size_t hrt_queue_armed_count(const hrt_queue *queue);

#endif

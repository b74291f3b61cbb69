// SPDX-License-Identifier: Apache-2.0
#ifndef CBENCH_TALLY_H
#define CBENCH_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_clock.h"

// The lateness that many timers report while they fire, on any number of threads at once. A fire
// costs a few ns and takes no lock.

enum {
    CBENCH_TALLY_STEPS = 32,  // for each power of two: neighbours differ by 3 %
    CBENCH_TALLY_BUCKETS = 60 * CBENCH_TALLY_STEPS,
};

typedef struct {
    uint64_t fires;
    uint64_t early;
    // Deadlines that had no fire of their own, because a later fire stood for them.
    uint64_t missed;
    int64_t latest_ns;
    uint64_t buckets[CBENCH_TALLY_BUCKETS];
    uint64_t clears;  // how often the tally was cleared
} cbench_tally;

// Returns NULL without memory.
cbench_tally *_Nullable cbench_tally_create(void);
void cbench_tally_destroy(cbench_tally *_Nullable tally);

// Clears all counts. A fire during the call may or may not be counted.
void cbench_tally_clear(cbench_tally *_Nonnull tally);

// Adds a fire. Any thread may call it.
void cbench_tally_add(cbench_tally *_Nonnull tally, int64_t lateness_ns);

// The sums so far, and the lateness that so many millionths of the fires did not exceed, rounded up
// to a bucket; 0 without fires.
uint64_t cbench_tally_fires(const cbench_tally *_Nonnull tally);
uint64_t cbench_tally_early(const cbench_tally *_Nonnull tally);
uint64_t cbench_tally_missed(const cbench_tally *_Nonnull tally);
int64_t cbench_tally_latest_ns(const cbench_tally *_Nonnull tally);
int64_t cbench_tally_quantile_ns(const cbench_tally *_Nonnull tally, uint64_t millionths);

// One of the timers: the deadline that it waits for, and its grid if it repeats. Only one thread at
// a time may use it; the timer's own package guarantees the order.
typedef struct {
    cbench_tally *_Nonnull tally;
    int64_t next_ns;
    int64_t interval_ns;  // 0 for a timer that fires once
    int64_t skipped_ns;   // a passed deadline for which a fire may still come; 0 for none
    uint64_t skipped_in;  // the tally's clears at that time
} cbench_member;

// Records a fire at the present time, for the earliest deadline that has not been met. Further
// deadlines that have passed count as missed. An exception: if the next fire comes before the next
// deadline, it was for the last of the missed ones, which passed between the timer's reading of the
// clock and ours. Returns the next deadline.
int64_t cbench_member_fire(cbench_member *_Nonnull member);

// Records a fire of a timer on a grid that reports how many deadlines the fire stands for.
void cbench_member_fire_for(cbench_member *_Nonnull member, uint64_t deadlines);

// Sets the deadline of the next fire, for a timer that reports it. Deadlines in between are missed.
void cbench_member_skip_to(cbench_member *_Nonnull member, int64_t deadline_ns);

// Counts the deadlines of repeating timers up to the instant for which no fire has come. Any thread
// may call it at any time.
uint64_t cbench_members_overdue(const cbench_member *_Nonnull members, size_t count,
                                int64_t instant_ns);

// Returns how many fires were later than the bound, which is exact to about 3 %.
uint64_t cbench_tally_later_than(const cbench_tally *_Nonnull tally, int64_t bound_ns);

// Crowds of the rivals' timers. `run` fires them on the calling thread, and returns at the given
// instant or soon after it. The functions that create a crowd return NULL and set errno on failure.
typedef struct cbench_crowd cbench_crowd;

// One periodic timerfd for each timer, all in one epoll set.
cbench_crowd *_Nullable cbench_timerfd_crowd(cbench_member *_Nonnull members, size_t count);
// libevent's timers on a precise base; each callback arms its timer again.
cbench_crowd *_Nullable cbench_libevent_crowd(cbench_member *_Nonnull members, size_t count);
void cbench_crowd_run(cbench_crowd *_Nonnull crowd, int64_t until_ns);
void cbench_crowd_destroy(cbench_crowd *_Nonnull crowd);

#endif

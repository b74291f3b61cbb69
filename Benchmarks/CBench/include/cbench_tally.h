#ifndef CBENCH_TALLY_H
#define CBENCH_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_clock.h"

// What many timers report while they fire, on any number of threads at once: their lateness. A few
// ns a fire, and no lock.

enum {
    CBENCH_TALLY_STEPS = 32,  // for each power of two: 3 % from one to the next
    CBENCH_TALLY_BUCKETS = 60 * CBENCH_TALLY_STEPS,
};

typedef struct {
    uint64_t fires;
    uint64_t early;
    // Deadlines that had no fire of their own, as they were left to a later one.
    uint64_t missed;
    int64_t latest_ns;
    uint64_t buckets[CBENCH_TALLY_BUCKETS];
    uint64_t clears;  // how often all before was forgotten
} cbench_tally;

// NULL without memory.
cbench_tally *_Nullable cbench_tally_create(void);
void cbench_tally_destroy(cbench_tally *_Nullable tally);

// Forgets all. What fires meanwhile counts, or does not.
void cbench_tally_clear(cbench_tally *_Nonnull tally);

// Any thread.
void cbench_tally_add(cbench_tally *_Nonnull tally, int64_t lateness_ns);

// The sums so far, and the lateness that so many millionths of the fires did not pass, rounded up
// to a bucket; 0 without fires.
uint64_t cbench_tally_fires(const cbench_tally *_Nonnull tally);
uint64_t cbench_tally_early(const cbench_tally *_Nonnull tally);
uint64_t cbench_tally_missed(const cbench_tally *_Nonnull tally);
int64_t cbench_tally_latest_ns(const cbench_tally *_Nonnull tally);
int64_t cbench_tally_quantile_ns(const cbench_tally *_Nonnull tally, uint64_t millionths);

// One of the timers: the deadline it waits for, and a grid if it repeats. One thread at a time, in
// an order that the timer's own package keeps.
typedef struct {
    cbench_tally *_Nonnull tally;
    int64_t next_ns;
    int64_t interval_ns;  // 0 for a timer that fires once
    int64_t skipped_ns;   // a deadline that passed, for which a fire may yet come; 0 for none
    uint64_t skipped_in;  // the tally's clears then
} cbench_member;

// It fired, now: for the earliest deadline not met so far. Those that passed besides are missed;
// unless the next fire comes before the deadline that follows: then it was for the last of them,
// which passed between the timer's look at the clock and ours. Gives the deadline that follows.
int64_t cbench_member_fire(cbench_member *_Nonnull member);

// The same for a timer on a grid that reports how many deadlines the fire stands for.
void cbench_member_fire_for(cbench_member *_Nonnull member, uint64_t deadlines);

// The deadline of the coming fire, by a timer that reports it. What lies between is missed.
void cbench_member_skip_to(cbench_member *_Nonnull member, int64_t deadline_ns);

// Deadlines up to the instant that no fire has come for, of those that repeat. Any thread, at any
// time.
uint64_t cbench_members_overdue(const cbench_member *_Nonnull members, size_t count,
                                int64_t instant_ns);

// How many fires were later than the bound, 3 % more or less.
uint64_t cbench_tally_later_than(const cbench_tally *_Nonnull tally, int64_t bound_ns);

// The crowds of others, each on the thread that calls `run`, which returns at the instant given or
// soon after it. NULL with errno where there is none.
typedef struct cbench_crowd cbench_crowd;

// A timerfd each, periodic, all in one epoll set.
cbench_crowd *_Nullable cbench_timerfd_crowd(cbench_member *_Nonnull members, size_t count);
// libevent's timers on a precise base, armed again by each callback.
cbench_crowd *_Nullable cbench_libevent_crowd(cbench_member *_Nonnull members, size_t count);
void cbench_crowd_run(cbench_crowd *_Nonnull crowd, int64_t until_ns);
void cbench_crowd_destroy(cbench_crowd *_Nonnull crowd);

#endif

// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "cbench_tally.h"

cbench_tally *cbench_tally_create(void) { return calloc(1, sizeof(cbench_tally)); }

void cbench_tally_destroy(cbench_tally *tally) { free(tally); }

void cbench_tally_clear(cbench_tally *tally) {
    __atomic_fetch_add(&tally->clears, 1, __ATOMIC_RELAXED);
    uint64_t *words = (uint64_t *)tally;
    for (size_t i = 0; i < offsetof(cbench_tally, clears) / sizeof words[0]; i++) {
        __atomic_store_n(&words[i], 0, __ATOMIC_RELAXED);
    }
}

// Below CBENCH_TALLY_STEPS one bucket per nanosecond, above it CBENCH_TALLY_STEPS per power of two.
static size_t bucket_of(uint64_t value_ns) {
    if (value_ns < CBENCH_TALLY_STEPS) return value_ns;
    unsigned power = 63 - (unsigned)__builtin_clzll(value_ns);
    unsigned shift = power - 5;  // the steps are 5 bits
    size_t bucket = (size_t)(shift + 1) * CBENCH_TALLY_STEPS + ((value_ns >> shift) & 31);
    return bucket < CBENCH_TALLY_BUCKETS ? bucket : CBENCH_TALLY_BUCKETS - 1;
}

// Returns the largest value of the bucket.
static int64_t top_of(size_t bucket) {
    if (bucket < CBENCH_TALLY_STEPS) return (int64_t)bucket;
    unsigned shift = (unsigned)(bucket / CBENCH_TALLY_STEPS) - 1;
    uint64_t low = (uint64_t)(CBENCH_TALLY_STEPS + bucket % CBENCH_TALLY_STEPS) << shift;
    return (int64_t)(low + (UINT64_C(1) << shift) - 1);
}

static void count(uint64_t *counter, uint64_t amount) {
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

void cbench_tally_add(cbench_tally *tally, int64_t lateness_ns) {
    count(&tally->fires, 1);
    if (lateness_ns < 0) {
        count(&tally->early, 1);
        lateness_ns = 0;
    }
    count(&tally->buckets[bucket_of((uint64_t)lateness_ns)], 1);
    int64_t latest_ns = __atomic_load_n(&tally->latest_ns, __ATOMIC_RELAXED);
    while (lateness_ns > latest_ns &&
           !__atomic_compare_exchange_n(&tally->latest_ns, &latest_ns, lateness_ns, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        continue;
    }
}

uint64_t cbench_tally_fires(const cbench_tally *tally) {
    return __atomic_load_n(&tally->fires, __ATOMIC_RELAXED);
}

uint64_t cbench_tally_early(const cbench_tally *tally) {
    return __atomic_load_n(&tally->early, __ATOMIC_RELAXED);
}

uint64_t cbench_tally_missed(const cbench_tally *tally) {
    return __atomic_load_n(&tally->missed, __ATOMIC_RELAXED);
}

int64_t cbench_tally_latest_ns(const cbench_tally *tally) {
    return __atomic_load_n(&tally->latest_ns, __ATOMIC_RELAXED);
}

int64_t cbench_tally_quantile_ns(const cbench_tally *tally, uint64_t millionths) {
    uint64_t fires = 0;
    for (size_t i = 0; i < CBENCH_TALLY_BUCKETS; i++) {
        fires += __atomic_load_n(&tally->buckets[i], __ATOMIC_RELAXED);
    }
    // The product overflows above 10^13 fires; that is three years of 10^5 a second.
    uint64_t rank = (fires * millionths + 999999) / 1000000;
    uint64_t passed = 0;
    for (size_t i = 0; i < CBENCH_TALLY_BUCKETS && fires > 0; i++) {
        passed += __atomic_load_n(&tally->buckets[i], __ATOMIC_RELAXED);
        if (passed >= rank && passed > 0) {
            int64_t latest_ns = cbench_tally_latest_ns(tally);
            int64_t top_ns = top_of(i);
            return top_ns < latest_ns ? top_ns : latest_ns;
        }
    }
    return 0;
}

// Uncounts a deadline that was counted as missed but was not. Does nothing if the tally was cleared
// since, and does not go below 0 if a clear runs at the same time.
static void take_back(const cbench_member *member) {
    cbench_tally *tally = member->tally;
    if (__atomic_load_n(&tally->clears, __ATOMIC_RELAXED) != member->skipped_in) return;
    uint64_t missed = __atomic_load_n(&tally->missed, __ATOMIC_RELAXED);
    while (missed > 0 && !__atomic_compare_exchange_n(&tally->missed, &missed, missed - 1, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        continue;
    }
}

int64_t cbench_member_fire(cbench_member *member) {
    int64_t now_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    int64_t next_ns = member->next_ns;
    if (now_ns < next_ns && member->skipped_ns != 0) {
        cbench_tally_add(member->tally, now_ns - member->skipped_ns);
        member->skipped_ns = 0;
        take_back(member);
        return next_ns;
    }
    int64_t lateness_ns = now_ns - next_ns;
    cbench_tally_add(member->tally, lateness_ns);
    if (member->interval_ns == 0) return 0;
    int64_t missed = lateness_ns > 0 ? lateness_ns / member->interval_ns : 0;
    if (missed > 0) count(&member->tally->missed, (uint64_t)missed);
    next_ns += (1 + missed) * member->interval_ns;
    // Either deadlines were missed now, or this fire may have been for a skipped deadline but came
    // after the next one. In both cases the last deadline may still get a fire of its own.
    bool is_owed = missed > 0 || member->skipped_ns != 0;
    member->skipped_ns = is_owed ? next_ns - member->interval_ns : 0;
    member->skipped_in = __atomic_load_n(&member->tally->clears, __ATOMIC_RELAXED);
    __atomic_store_n(&member->next_ns, next_ns, __ATOMIC_RELAXED);
    return next_ns;
}

void cbench_member_fire_for(cbench_member *member, uint64_t deadlines) {
    cbench_tally_add(member->tally, hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) - member->next_ns);
    if (deadlines > 1) count(&member->tally->missed, deadlines - 1);
    int64_t next_ns = member->next_ns + (int64_t)deadlines * member->interval_ns;
    __atomic_store_n(&member->next_ns, next_ns, __ATOMIC_RELAXED);
}

void cbench_member_skip_to(cbench_member *member, int64_t deadline_ns) {
    int64_t passed_ns = deadline_ns - member->next_ns + member->interval_ns / 2;
    if (passed_ns >= member->interval_ns) {
        count(&member->tally->missed, (uint64_t)(passed_ns / member->interval_ns));
    }
    member->skipped_ns = 0;
    __atomic_store_n(&member->next_ns, deadline_ns, __ATOMIC_RELAXED);
}

uint64_t cbench_members_overdue(const cbench_member *members, size_t count, int64_t instant_ns) {
    uint64_t overdue = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t next_ns = __atomic_load_n(&members[i].next_ns, __ATOMIC_RELAXED);
        if (next_ns > instant_ns || members[i].interval_ns == 0) continue;
        overdue += 1 + (uint64_t)((instant_ns - next_ns) / members[i].interval_ns);
    }
    return overdue;
}

uint64_t cbench_tally_later_than(const cbench_tally *tally, int64_t bound_ns) {
    uint64_t later = 0;
    for (size_t i = bucket_of((uint64_t)bound_ns) + 1; i < CBENCH_TALLY_BUCKETS; i++) {
        later += __atomic_load_n(&tally->buckets[i], __ATOMIC_RELAXED);
    }
    return later;
}

// SPDX-License-Identifier: Apache-2.0
#include "queue_sorted.h"

#include <string.h>

#include "hrt_clock.h"

int64_t clamped_sum(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

void sorted_disarm(struct sorted *sorted, size_t subject) {
    if (!sorted->timers[subject].is_armed) return;
    size_t at = 0;
    while (sorted->armed[at] != subject) at++;
    sorted->armed_count--;
    memmove(&sorted->armed[at], &sorted->armed[at + 1],
            (sorted->armed_count - at) * sizeof sorted->armed[0]);
    sorted->timers[subject].is_armed = false;
}

static bool is_before(const struct timer *a, const struct timer *b) {
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns
                                            : a->sequence < b->sequence;
}

static void put_in_order(struct sorted *sorted, size_t subject) {
    const struct timer *timers = sorted->timers;
    size_t at = sorted->armed_count;
    while (at > 0 && is_before(&timers[subject], &timers[sorted->armed[at - 1]])) at--;
    memmove(&sorted->armed[at + 1], &sorted->armed[at],
            (sorted->armed_count - at) * sizeof sorted->armed[0]);
    sorted->armed[at] = (uint16_t)subject;
    sorted->armed_count++;
    sorted->timers[subject].is_armed = true;
}

void sorted_arm(struct sorted *sorted, size_t subject, int64_t deadline_ns, int64_t tolerance_ns) {
    sorted_disarm(sorted, subject);
    struct timer *timer = &sorted->timers[subject];
    timer->deadline_ns = deadline_ns;
    timer->latest_ns = clamped_sum(deadline_ns, tolerance_ns < 0 ? 0 : tolerance_ns);
    timer->sequence = ++sorted->sequences;
    timer->is_precise = false;
    put_in_order(sorted, subject);
}

int64_t sorted_next_ns(const struct sorted *sorted) {
    return sorted->armed_count == 0 ? HRT_NEVER : sorted->timers[sorted->armed[0]].deadline_ns;
}

int64_t sorted_next_wake_ns(const struct sorted *sorted) {
    int64_t earliest_ns = HRT_NEVER;
    for (size_t i = 0; i < sorted->armed_count; i++) {
        int64_t latest_ns = sorted->timers[sorted->armed[i]].latest_ns;
        if (latest_ns < earliest_ns) earliest_ns = latest_ns;
    }
    return earliest_ns;
}

int64_t sorted_next_precise_ns(const struct sorted *sorted) {
    for (size_t i = 0; i < sorted->armed_count; i++) {
        const struct timer *timer = &sorted->timers[sorted->armed[i]];
        if (timer->is_precise) return timer->deadline_ns;
    }
    return HRT_NEVER;
}

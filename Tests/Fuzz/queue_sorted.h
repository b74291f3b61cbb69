// SPDX-License-Identifier: Apache-2.0
#ifndef QUEUE_SORTED_H
#define QUEUE_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_queue.h"

// The model of a timer queue: timers, and an array of the armed ones in order.
enum { TIMERS = 192 };

struct timer {
    hrt_token token;
    bool is_live;
    bool is_armed;
    int64_t deadline_ns;
    int64_t latest_ns;
    uint64_t sequence;
    bool is_precise;
};

struct sorted {
    struct timer timers[TIMERS];
    size_t live;
    uint16_t armed[TIMERS];  // by deadline, equal ones in order of arming
    size_t armed_count;
    uint64_t sequences;
};

int64_t clamped_sum(int64_t a, int64_t b);

void sorted_arm(struct sorted *sorted, size_t subject, int64_t deadline_ns, int64_t tolerance_ns);
void sorted_disarm(struct sorted *sorted, size_t subject);

// Return HRT_NEVER if there is none.
int64_t sorted_next_ns(const struct sorted *sorted);
int64_t sorted_next_wake_ns(const struct sorted *sorted);
int64_t sorted_next_precise_ns(const struct sorted *sorted);

#endif

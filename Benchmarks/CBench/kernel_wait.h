// SPDX-License-Identifier: Apache-2.0
#ifndef KERNEL_WAIT_H
#define KERNEL_WAIT_H

#include <errno.h>
#include <sys/time.h>

#include "cbench_kernel.h"

// The wait of a measuring loop. Returns the time at which the deadline was met, taken right after
// the wait; -EINTR to be called again; or the negative errno if it cannot wait here.
typedef int64_t cbench_wait(void *context, int64_t deadline_ns);

// Fills a block by one wait after the other. Inline, so that each loop has its wait within it, and
// no call through a pointer.
__attribute__((always_inline)) static inline int cbench_fill(cbench_block *block, cbench_wait *wait,
                                                             void *context) {
    int64_t woke_ns;
    do {
        do {
            woke_ns = wait(context, block->next_deadline_ns);
        } while (woke_ns == -EINTR);
        if (woke_ns < 0) return (int)woke_ns;
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}

// The value of a wait whose call has returned: `error` is 0, or its errno; `end` is the errno by
// which it says that its time is over, or 0.
static inline int64_t cbench_woke(int error, int end) {
    int64_t woke_ns = cbench_now_ns();
    return error == 0 || error == end ? woke_ns : -error;
}

// What remains until a deadline, at least 0, for calls that take a duration.
static inline int64_t cbench_left_ns(int64_t deadline_ns) {
    int64_t left_ns = deadline_ns - cbench_now_ns();
    return left_ns > 0 ? left_ns : 0;
}

// The same in whole us, for libevent and other calls. Rounded up: rounding down would wake early.
static inline struct timeval cbench_left_us(int64_t deadline_ns) {
    int64_t left_us = (cbench_left_ns(deadline_ns) + 999) / 1000;
    return (struct timeval){.tv_sec = left_us / 1000000, .tv_usec = left_us % 1000000};
}

// Creates a base of libevent; NULL without memory.
struct event_base *cbench_event_base(int flags);

// Returns the value of a counter, or -1 if there is none.
int64_t cbench_counter_value(cbench_counters counters, size_t counter);

#endif

#ifndef KERNEL_WAIT_H
#define KERNEL_WAIT_H

#include "cbench_kernel.h"

// What a measuring loop waits by. `time_ns` is the deadline, or what remains until it. 0 when the
// deadline has come, -EINTR to be called again, or the negative errno if it cannot wait here.
typedef int cbench_wait(void *context, int64_t time_ns);

// Fill a block with one wait after the other. The stamp is the first thing after the wait.
int cbench_fill_absolute(cbench_block *block, cbench_wait *wait, void *context);
// What remains is computed right before the call, and is 0 at least.
int cbench_fill_relative(cbench_block *block, cbench_wait *wait, void *context);

// A deadline on CLOCK_REALTIME: never an earlier one by our own error.
static inline int64_t cbench_wall_deadline_ns(int64_t deadline_ns) {
    int64_t now_ns = cbench_now_ns();
    return deadline_ns + (cbench_wall_ns() - now_ns);
}

// The value of a counter; -1 without one.
int64_t cbench_counter_value(cbench_counters counters, size_t counter);

#endif

#ifndef KERNEL_WAIT_H
#define KERNEL_WAIT_H

#include "cbench_kernel.h"

// The call by which a measuring loop waits. `time_ns` is the deadline, or the time that remains
// until it. Returns 0 when the deadline has come, -EINTR to be called again, or the negative errno
// if it cannot wait here.
typedef int cbench_wait(void *context, int64_t time_ns);

// Fill a block with one wait after the other. The time stamp is the first action after the wait.
int cbench_fill_absolute(cbench_block *block, cbench_wait *wait, void *context);
// The remaining time is computed right before the call, and is at least 0.
int cbench_fill_relative(cbench_block *block, cbench_wait *wait, void *context);

// Converts a deadline to CLOCK_REALTIME. The conversion itself never makes it earlier.
static inline int64_t cbench_wall_deadline_ns(int64_t deadline_ns) {
    int64_t now_ns = cbench_now_ns();
    return deadline_ns + (cbench_wall_ns() - now_ns);
}

// Returns the value of a counter, or -1 if there is none.
int64_t cbench_counter_value(cbench_counters counters, size_t counter);

#endif

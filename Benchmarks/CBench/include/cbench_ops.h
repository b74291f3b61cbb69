// SPDX-License-Identifier: Apache-2.0
#ifndef CBENCH_OPS_H
#define CBENCH_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The cost of a timer queue's operations, for our queue and its rivals alike: one call runs one
// round of one workload on one of them. The caller interleaves rounds, and compares within a round.

typedef enum {
    // Cancel a random timer and arm a new one, while time stands still. Deadlines are uniform
    // between 1 ms and 60 s.
    CBENCH_OPS_ARM_CANCEL = 0,
    // Like ARM_CANCEL, while time runs by 10 us an operation; due timers are taken every 1 ms.
    CBENCH_OPS_ARM_CANCEL_RUNNING,
    // Move a random timer to 30 s from now, while time runs as above: a keep-alive.
    CBENCH_OPS_RE_ARM_LATER,
    // Cancel a random timer and arm one for 30 s from now, while time runs as above: timeouts of
    // equal duration, for which a list in the order of arming would suffice.
    CBENCH_OPS_ARM_CANCEL_EQUAL,
    // Like ARM_CANCEL, and ask for the next deadline after every operation.
    CBENCH_OPS_NEXT_DEADLINE,
    // Fire all timers, uniform in 10 s, in steps of 1 ms. An operation is one fired timer.
    CBENCH_OPS_EXPIRE,
    // Fire all timers, which have the same deadline.
    CBENCH_OPS_EXPIRE_EQUAL,
    // Fire all timers, uniform in 60 s, by one jump of a century.
    CBENCH_OPS_EXPIRE_JUMP,
    // Fire all timers in steps of 1 ms; every 100 ms a hundredth of them is due at once. A wheel
    // that moves whole buckets stalls here.
    CBENCH_OPS_EXPIRE_CLUSTERED,
    // Let time pass in steps of 1 ms without a due timer: the first is due in a day. An operation
    // is one step.
    CBENCH_OPS_PASS,
} cbench_ops_workload;

typedef enum {
    CBENCH_OPS_HRT_QUEUE = 0,          // our queue, by tokens
    CBENCH_OPS_HRT_QUEUE_OWNER,        // our queue, by slots: timers that are armed repeatedly
    CBENCH_OPS_HRT_QUEUE_TOLERANT,     // our queue, by tokens, each with a tolerance of 10 ms
    CBENCH_OPS_BINARY_HEAP,            // deadlines cached in its array; by tokens
    CBENCH_OPS_QUATERNARY_HEAP,        // the same with four children per node
    CBENCH_OPS_QUATERNARY_HEAP_OWNER,  // the quaternary heap by slots
    CBENCH_OPS_LIBEVENT,               // libevent's timers, through its API
    CBENCH_OPS_NULL,                   // does nothing: the cost of the loop
    // Touches one random cache line of memory of the same size: the lower limit by slots.
    CBENCH_OPS_TOUCH,
    // Reads a token, and touches the line that it refers to: the lower limit by tokens.
    CBENCH_OPS_TOUCH_TOKEN,
    CBENCH_OPS_RIVALS,
} cbench_ops_rival;

typedef struct {
    double ns_per_op;
    // The longest single call that took due timers; 0 if the workload takes none.
    int64_t longest_call_ns;
    // An upper bound of 999 of 1000 such calls, at most 3 % too high; 0 below 10,000 calls, and in
    // the workloads before CBENCH_OPS_EXPIRE.
    int64_t poll_p999_ns;
    double bytes_per_timer;  // 0 if not known
    uint64_t operations;
    uint64_t fired;
    uint64_t early;       // fired before their deadline
    uint64_t inversions;  // fired after a timer with a later deadline
} cbench_ops_result;

// Returns "hrtimer.queue", "heap.binary" ...; NULL beyond the last.
const char *cbench_ops_rival_id(cbench_ops_rival rival);

// Returns 0, -ENOMEM, or -ENOTSUP if the rival cannot run the workload. The same seed gives every
// rival the same deadlines.
int cbench_ops_run(cbench_ops_workload workload, cbench_ops_rival rival, size_t timers,
                   uint64_t seed, cbench_ops_result *out_result);

#endif

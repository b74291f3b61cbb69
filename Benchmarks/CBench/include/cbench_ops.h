#ifndef CBENCH_OPS_H
#define CBENCH_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The cost of a timer queue's operations, for our queue and its rivals alike: one call runs one
// round of one workload on one of them. The caller interleaves rounds, and compares within a round.

typedef enum {
    // Cancel a random timer and arm a new one, time standing still. Deadlines uniform in
    // 1 ms ... 60 s.
    CBENCH_OPS_ARM_CANCEL = 0,
    // The same with time running, 10 us an operation, and due timers taken every 1 ms.
    CBENCH_OPS_ARM_CANCEL_RUNNING,
    // Move a random timer to 30 s from now, with time running as above: the keep-alive.
    CBENCH_OPS_RE_ARM_LATER,
    // Cancel a random timer and arm one for 30 s from now, with time running as above: timeouts of
    // equal duration, which a list in order of arming would serve.
    CBENCH_OPS_ARM_CANCEL_EQUAL,
    // ARM_CANCEL, and ask for the next deadline after every operation.
    CBENCH_OPS_NEXT_DEADLINE,
    // Fire all timers, uniform in 10 s, in steps of 1 ms. An operation is one fired timer.
    CBENCH_OPS_EXPIRE,
    // Fire all timers, which have the same deadline.
    CBENCH_OPS_EXPIRE_EQUAL,
    // Fire all timers, uniform in 60 s, after one jump of a century.
    CBENCH_OPS_EXPIRE_JUMP,
    // Fire all timers, a hundredth of them at once every 100 ms, in steps of 1 ms: where a wheel
    // that moves whole buckets stalls.
    CBENCH_OPS_EXPIRE_CLUSTERED,
    // Let 1 ms pass in which no timer is due, the first being due in a day. An operation is 1 ms.
    CBENCH_OPS_PASS,
} cbench_ops_workload;

typedef enum {
    CBENCH_OPS_HRT_QUEUE = 0,          // our queue, by tokens
    CBENCH_OPS_HRT_QUEUE_OWNER,        // our queue, by slots: timers that are armed again and again
    CBENCH_OPS_HRT_QUEUE_TOLERANT,     // our queue, by tokens, each with a tolerance of 10 ms
    CBENCH_OPS_BINARY_HEAP,            // of indices, each node knowing its place; by tokens
    CBENCH_OPS_QUATERNARY_HEAP,        // deadlines cached in its array; by tokens
    CBENCH_OPS_QUATERNARY_HEAP_OWNER,  // the same by slots
    CBENCH_OPS_LIBEVENT,               // libevent's timers, through its API
    CBENCH_OPS_NULL,                   // nothing: what the loop costs
    // One random cache line of memory of the same size: the limit of an owner.
    CBENCH_OPS_TOUCH,
    // A token, and the line it leads to: the limit of all that checks tokens.
    CBENCH_OPS_TOUCH_TOKEN,
    CBENCH_OPS_RIVALS,
} cbench_ops_rival;

typedef struct {
    double ns_per_op;
    // The longest single call that took due timers; 0 if the workload takes none.
    int64_t longest_call_ns;
    // What 999 of 1000 such calls did not pass, rounded up by 3 % at most; 0 below 10,000 calls.
    int64_t poll_p999_ns;
    double bytes_per_timer;  // 0 if not known
    uint64_t operations;
    uint64_t fired;
    uint64_t early;       // fired before their deadline
    uint64_t inversions;  // fired after a later one
} cbench_ops_result;

// "hrtimer.queue", "heap.binary" ...; NULL beyond the last.
const char *cbench_ops_rival_id(cbench_ops_rival rival);

// 0, -ENOMEM, or -ENOTSUP if the rival cannot do the workload. The same seed gives the same
// deadlines to each rival.
int cbench_ops_run(cbench_ops_workload workload, cbench_ops_rival rival, size_t timers,
                   uint64_t seed, cbench_ops_result *out_result);

// The same with so many operations where the workload has a number of its own (up to NEXT_DEADLINE
// and PASS), and without any before them to warm up. For who counts instructions: of two runs the
// difference is that of their operations.
int cbench_ops_run_exactly(cbench_ops_workload workload, cbench_ops_rival rival, size_t timers,
                           uint64_t seed, uint64_t operations, cbench_ops_result *out_result);

#endif

// SPDX-License-Identifier: Apache-2.0
// SCHED_DEADLINE (sched(7)): the scheduler itself wakes the thread at each period.
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_wait.h"

// The C library's headers have this struct since glibc 2.41, as sched_attr.
struct deadline_attributes {
    uint32_t size;
    uint32_t sched_policy;
    uint64_t sched_flags;
    int32_t sched_nice;
    uint32_t sched_priority;
    uint64_t sched_runtime;
    uint64_t sched_deadline;
    uint64_t sched_period;
};

enum { POLICY_OTHER = 0, POLICY_DEADLINE = 6, LEAST_RUNTIME_NS = 20000 };

static int set_class(uint32_t policy, int64_t period_ns) {
    // A tenth of a processor, which leaves room for others within what the kernel admits.
    int64_t runtime_ns = period_ns / 10 > LEAST_RUNTIME_NS ? period_ns / 10 : LEAST_RUNTIME_NS;
    struct deadline_attributes attributes = {.size = sizeof attributes, .sched_policy = policy};
    if (policy == POLICY_DEADLINE) {
        attributes.sched_runtime = (uint64_t)runtime_ns;
        attributes.sched_deadline = attributes.sched_period = (uint64_t)period_ns;
    }
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 ? 0 : -errno;
}

// Gives up the rest of the runtime, until the next period (sched_yield(2)). If the runtime is being
// replenished at that moment, the call returns at once and is repeated.
static inline int64_t yield_until_period(void *interval_ns, int64_t deadline_ns) {
    int64_t woke_ns;
    do {
        sched_yield();
        woke_ns = cbench_now_ns();
    } while (woke_ns < deadline_ns - *(int64_t *)interval_ns / 2);
    return woke_ns;
}

int cbench_sched_deadline(cbench_block *block) {
    // The first period begins within the call; its end is the first deadline.
    int64_t start_ns = cbench_now_ns();
    int status = set_class(POLICY_DEADLINE, block->interval_ns);
    if (status != 0) return status;
    cbench_block_begin(block, start_ns + block->interval_ns, block->interval_ns);
    cbench_fill(block, yield_until_period, &block->interval_ns);
    return set_class(POLICY_OTHER, 0);
}

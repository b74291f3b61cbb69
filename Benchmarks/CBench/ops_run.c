// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/mman.h>

#include "cbench_ops.h"
#include "cbench_tally.h"
#include "hrt_clock.h"
#include "ops_rival.h"

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define HOUR (INT64_C(3600) * SECOND)
#define CENTURY (INT64_C(100) * 365 * 24 * 3600 * SECOND)

enum { HUGE_PAGE_BYTES = 2 << 20, STEP_NS = 10000, OPERATIONS_PER_ADVANCE = 100 };

static const struct cbench_queue_ops *const rivals[CBENCH_OPS_RIVALS] = {
    [CBENCH_OPS_HRT_QUEUE] = &cbench_rival_hrt_queue,
    [CBENCH_OPS_HRT_QUEUE_OWNER] = &cbench_rival_hrt_queue_owner,
    [CBENCH_OPS_HRT_QUEUE_TOLERANT] = &cbench_rival_hrt_queue_tolerant,
    [CBENCH_OPS_BINARY_HEAP] = &cbench_rival_binary_heap,
    [CBENCH_OPS_QUATERNARY_HEAP] = &cbench_rival_quaternary_heap,
    [CBENCH_OPS_QUATERNARY_HEAP_OWNER] = &cbench_rival_quaternary_heap_owner,
    [CBENCH_OPS_LIBEVENT] = &cbench_rival_libevent,
    [CBENCH_OPS_NULL] = &cbench_rival_null,
    [CBENCH_OPS_TOUCH] = &cbench_rival_touch,
    [CBENCH_OPS_TOUCH_TOKEN] = &cbench_rival_touch_token,
};

const char *cbench_ops_rival_id(cbench_ops_rival rival) {
    return (size_t)rival < CBENCH_OPS_RIVALS ? rivals[rival]->id : NULL;
}

static size_t whole_huge_pages(size_t bytes) {
    return (bytes + HUGE_PAGE_BYTES - 1) & ~(size_t)(HUGE_PAGE_BYTES - 1);
}

void *cbench_map(size_t bytes) {
    size_t length = whole_huge_pages(bytes);
    char *start = mmap(NULL, length + HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return NULL;
    size_t before = -(uintptr_t)start & (HUGE_PAGE_BYTES - 1);
    if (before > 0) munmap(start, before);
    munmap(start + before + length, HUGE_PAGE_BYTES - before);
    madvise(start + before, length, MADV_HUGEPAGE);
    return start + before;
}

void cbench_unmap(void *start, size_t bytes) { munmap(start, whole_huge_pages(bytes)); }

struct run {
    const struct cbench_queue_ops *ops;
    void *queue;
    size_t timers;
    uint64_t random;
    int64_t now_ns;
    int64_t longest_call_ns;
    struct cbench_fired fired;
    cbench_tally *polls;  // how long each call took
};

// xorshift64* (Vigna, 2016): a few cycles, so that the harness stays small beside what it measures.
static inline uint64_t next_random(struct run *run) {
    run->random ^= run->random >> 12;
    run->random ^= run->random << 25;
    run->random ^= run->random >> 27;
    return run->random * UINT64_C(0x2545F4914F6CDD1D);
}

// The high half of a product in place of a division.
static inline uint64_t below(uint64_t random, uint64_t limit) {
    return (uint64_t)(((unsigned __int128)random * limit) >> 64);
}

static inline int64_t deadline_within(struct run *run, int64_t least_ns, int64_t most_ns) {
    return run->now_ns + least_ns +
           (int64_t)below(next_random(run), (uint64_t)(most_ns - least_ns));
}

static void take_due(struct run *run) {
    if (run->ops->take_due == NULL) return;
    run->fired.now_ns = run->now_ns;
    bool is_more = true;
    while (is_more) {
        int64_t before_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
        is_more = run->ops->take_due(run->queue, run->now_ns, &run->fired);
        int64_t took_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) - before_ns;
        if (run->polls != NULL) cbench_tally_add(run->polls, took_ns);
        if (took_ns > run->longest_call_ns) run->longest_call_ns = took_ns;
    }
}

static void churn(struct run *run, uint64_t operations, bool asks_next) {
    uint64_t sum_ns = 0;  // wraps: its value does not matter
    for (uint64_t i = 0; i < operations; i++) {
        size_t timer = below(next_random(run), run->timers);
        run->ops->replace(run->queue, timer, deadline_within(run, MS, 60 * SECOND));
        if (asks_next) sum_ns += (uint64_t)run->ops->next_ns(run->queue);
    }
    __asm__ volatile("" : : "r"(sum_ns));
}

// A timer that has fired is rearmed the next time its number is drawn; with up to 60 s to go, few
// fire.
static void churn_running(struct run *run, uint64_t operations, cbench_ops_workload workload) {
    for (uint64_t i = 0; i < operations; i++) {
        size_t timer = below(next_random(run), run->timers);
        if (workload == CBENCH_OPS_RE_ARM_LATER) {
            run->ops->move(run->queue, timer, run->now_ns + 30 * SECOND);
        } else if (workload == CBENCH_OPS_ARM_CANCEL_EQUAL) {
            run->ops->replace(run->queue, timer, run->now_ns + 30 * SECOND);
        } else {
            run->ops->replace(run->queue, timer, deadline_within(run, MS, 60 * SECOND));
        }
        run->now_ns += STEP_NS;
        if (i % OPERATIONS_PER_ADVANCE == 0 && !run->ops->takes_all_at_once) take_due(run);
    }
}

static void expire(struct run *run, int64_t step_ns, int64_t until_ns) {
    while (run->now_ns < until_ns) {
        run->now_ns += step_ns;
        take_due(run);
    }
}

// Does not read the clock for each call, which would cost more than the call. For a rival that
// reads its own clock, time passes by itself: the rival reads its clock once an operation.
static void pass(struct run *run, uint64_t operations) {
    for (uint64_t i = 0; i < operations; i++) {
        run->now_ns += MS;
        run->fired.now_ns = run->now_ns;
        run->ops->take_due(run->queue, run->now_ns, &run->fired);
    }
}

static void arm_all(struct run *run, int64_t least_ns, int64_t most_ns) {
    for (size_t i = 0; i < run->timers; i++) {
        run->ops->add(run->queue, i, deadline_within(run, least_ns, most_ns));
    }
}

static bool can_run(const struct cbench_queue_ops *ops, cbench_ops_workload workload) {
    if (workload == CBENCH_OPS_NEXT_DEADLINE) return ops->next_ns != NULL;
    if (workload >= CBENCH_OPS_EXPIRE) return ops->take_due != NULL;
    return true;
}

static void expire_all(struct run *run, cbench_ops_workload workload) {
    // A rival that reads its own clock has its deadlines in the past, as far from each other as
    // those of the other rivals.
    int64_t end_ns = run->ops->takes_all_at_once ? 0 : 10 * SECOND;
    if (workload == CBENCH_OPS_EXPIRE || workload == CBENCH_OPS_EXPIRE_CLUSTERED) {
        expire(run, run->ops->takes_all_at_once ? 10 * SECOND : MS, end_ns + MS);
    } else {
        expire(run, CENTURY, CENTURY);
    }
}

static void arm_in_clusters(struct run *run, int64_t shift_ns) {
    for (size_t i = 0; i < run->timers; i++) {
        int64_t cluster = 1 + (int64_t)(i % 100);
        run->ops->add(run->queue, i, shift_ns + cluster * 100 * MS);
    }
}

static void arm_for(struct run *run, cbench_ops_workload workload) {
    int64_t shift_ns = run->ops->takes_all_at_once ? -61 * SECOND : 0;
    switch (workload) {
    case CBENCH_OPS_EXPIRE: arm_all(run, shift_ns, shift_ns + 10 * SECOND); break;
    case CBENCH_OPS_EXPIRE_EQUAL: arm_all(run, shift_ns + SECOND, shift_ns + SECOND + 1); break;
    case CBENCH_OPS_EXPIRE_JUMP: arm_all(run, shift_ns, shift_ns + 60 * SECOND); break;
    case CBENCH_OPS_EXPIRE_CLUSTERED: arm_in_clusters(run, shift_ns); break;
    case CBENCH_OPS_PASS: arm_all(run, 24 * HOUR, 48 * HOUR); break;
    case CBENCH_OPS_RE_ARM_LATER: arm_all(run, MS, 30 * SECOND); break;
    default: arm_all(run, MS, 60 * SECOND); break;
    }
}

static void operate(struct run *run, cbench_ops_workload workload, uint64_t operations) {
    switch (workload) {
    case CBENCH_OPS_ARM_CANCEL: churn(run, operations, false); break;
    case CBENCH_OPS_NEXT_DEADLINE: churn(run, operations, true); break;
    case CBENCH_OPS_ARM_CANCEL_RUNNING:
    case CBENCH_OPS_ARM_CANCEL_EQUAL:
    case CBENCH_OPS_RE_ARM_LATER: churn_running(run, operations, workload); break;
    case CBENCH_OPS_PASS: pass(run, operations); break;
    default: expire_all(run, workload); break;
    }
}

static bool has_own_number(cbench_ops_workload workload) {
    return workload <= CBENCH_OPS_NEXT_DEADLINE || workload == CBENCH_OPS_PASS;
}

static int64_t poll_p999_ns(const cbench_tally *polls) {
    bool is_supported = polls != NULL && cbench_tally_fires(polls) >= 10000;
    return is_supported ? cbench_tally_quantile_ns(polls, 999000) : 0;
}

int cbench_ops_run(cbench_ops_workload workload, cbench_ops_rival rival, size_t timers,
                   uint64_t seed, cbench_ops_result *out_result) {
    const struct cbench_queue_ops *ops = rivals[rival];
    if (!can_run(ops, workload)) return -ENOTSUP;
    struct run run = {.ops = ops, .timers = timers, .random = seed * 2 + 1};
    run.queue = ops->create(timers);
    if (run.queue == NULL) return -ENOMEM;
    run.fired.previous_ns = INT64_MIN;
    arm_for(&run, workload);
    double bytes = ops->memory_bytes == NULL ? 0 : (double)ops->memory_bytes(run.queue);

    uint64_t operations = timers < 500000 ? 1000000 : 2 * timers;
    if (workload <= CBENCH_OPS_NEXT_DEADLINE) churn(&run, operations / 4, false);
    if (!has_own_number(workload)) operations = timers;
    run.polls = workload >= CBENCH_OPS_EXPIRE ? cbench_tally_create() : NULL;
    int64_t before_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    operate(&run, workload, operations);
    int64_t took_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) - before_ns;
    *out_result = (cbench_ops_result){
        .ns_per_op = (double)took_ns / (double)operations,
        .longest_call_ns = run.longest_call_ns,
        .poll_p999_ns = poll_p999_ns(run.polls),
        .bytes_per_timer = bytes / (double)timers,
        .operations = operations,
        .fired = run.fired.count,
        .early = run.fired.early,
        .inversions = run.fired.inversions,
    };
    cbench_tally_destroy(run.polls);
    ops->destroy(run.queue);
    return 0;
}

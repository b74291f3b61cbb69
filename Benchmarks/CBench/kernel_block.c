// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cbench_kernel.h"
#include "cbench_thread.h"
#include "cbench_why.h"
#include "kernel_wait.h"

// Only clang knows it.
#ifndef __has_feature
#define __has_feature(name) 0
#endif

static atomic_bool stop_requested;

static void request_stop(int signal) {
    (void)signal;
    atomic_store_explicit(&stop_requested, true, memory_order_relaxed);
}

int cbench_stop_on_interrupt(void) {
    // SA_RESTART: the rivals' own waits should not see the signal. SA_RESETHAND: the second signal
    // has its default effect.
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART | SA_RESETHAND};
    return sigaction(SIGINT, &action, NULL) == 0 ? 0 : -errno;
}

bool cbench_stop_requested(void) {
    return atomic_load_explicit(&stop_requested, memory_order_relaxed);
}

static int64_t ns_of(struct timeval time) {
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

cbench_usage cbench_usage_with(cbench_counters counters) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);  // cannot fail with these arguments
    return (cbench_usage){
        .process_cpu_ns = hrt_clock_process_cpu_ns(),
        .user_cpu_ns = ns_of(used.ru_utime),
        .system_cpu_ns = ns_of(used.ru_stime),
        .thread_cpu_ns = cbench_thread_cpu_ns(),
        .thread_id = gettid(),
        .voluntary_switches = used.ru_nvcsw,
        .involuntary_switches = used.ru_nivcsw,
        .page_faults = used.ru_minflt + used.ru_majflt,
        .instructions = cbench_counter_value(counters, 0),
        .cycles = cbench_counter_value(counters, 1),
        .cache_misses = cbench_counter_value(counters, 2),
    };
}

cbench_usage cbench_usage_now(void) { return cbench_usage_with(cbench_no_counters()); }

// Only under Thread Sanitizer: the fires are in order without it, and it is a line more to touch.
void cbench_block_order(cbench_block *block) {
#if __has_feature(thread_sanitizer)
    __atomic_fetch_add(&block->turns, 1, __ATOMIC_ACQ_REL);
#else
    (void)block;
#endif
}

void cbench_block_begin(cbench_block *block, int64_t first_deadline_ns, int64_t interval_ns) {
    block->count = 0;
    block->first_deadline_ns = first_deadline_ns;
    block->interval_ns = interval_ns;
    block->next_deadline_ns = first_deadline_ns;
    cbench_block_order(block);
}

bool cbench_block_fire(cbench_block *block, int64_t woke_ns) {
    cbench_block_order(block);
    int64_t late_ns = woke_ns - block->next_deadline_ns;
    int64_t missed = late_ns > 0 ? late_ns / block->interval_ns : 0;
    return cbench_block_fire_for(block, woke_ns, 1 + missed);
}

int cbench_event_file(void) {
    int descriptor = eventfd(0, EFD_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

// The fire is the first of the block or maybe the last. Apart from the common path, which
// is then few lines of code: after milliseconds of idleness each of them costs every subject time.
__attribute__((noinline, cold)) static bool take_rare(cbench_block *block, int64_t woke_ns) {
    bool is_end = cbench_stop_requested() || (block->end_ns != 0 && woke_ns >= block->end_ns);
    if (is_end) block->capacity = block->count;
    if (block->count == 1) block->at_first = cbench_usage_with(block->counters);
    if (block->count < block->capacity) return true;
    block->at_last = cbench_usage_with(block->counters);
    return false;
}

static bool take(cbench_block *block, int64_t woke_ns, int64_t deadlines) {
    if (block->count == block->capacity) return false;
    int64_t deadline_ns = block->next_deadline_ns;
    block->next_deadline_ns += deadlines * block->interval_ns;
    if (block->settling > 0) {
        block->settling--;
        return true;
    }
    block->fires[block->count] = (cbench_fire){
        .deadline_ns = deadline_ns, .woke_ns = woke_ns, .processor = cbench_processor()};
    block->count += 1;
    cbench_why_note(deadline_ns, woke_ns);
    bool is_rare = block->count == 1 || block->count == block->capacity || block->end_ns != 0 ||
                   cbench_stop_requested();
    return __builtin_expect(is_rare, 0) ? take_rare(block, woke_ns) : true;
}

bool cbench_block_fire_now(cbench_block *block, int64_t deadlines) {
    return cbench_block_fire_for(block, cbench_now_ns(), deadlines);
}

static void work(int64_t work_ns) {
    int64_t begun_ns = cbench_now_ns();
    while (cbench_now_ns() - begun_ns < work_ns) continue;
}

bool cbench_block_fire_for(cbench_block *block, int64_t woke_ns, int64_t deadlines) {
    cbench_block_order(block);
    bool has_more = take(block, woke_ns, deadlines);
    if (block->work_ns > 0) work(block->work_ns);
    cbench_block_order(block);
    return has_more;
}

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cbench_kernel.h"

static atomic_bool stop_requested;

static void request_stop(int signal) {
    (void)signal;
    atomic_store_explicit(&stop_requested, true, memory_order_relaxed);
}

int cbench_stop_on_interrupt(void) {
    // SA_RESTART: the rivals' own waits should not see the signal. SA_RESETHAND: the second one
    // takes its default course.
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART | SA_RESETHAND};
    return sigaction(SIGINT, &action, NULL) == 0 ? 0 : -errno;
}

bool cbench_stop_requested(void) {
    return atomic_load_explicit(&stop_requested, memory_order_relaxed);
}

cbench_usage cbench_usage_now(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);  // cannot fail with these arguments
    return (cbench_usage){
        .process_cpu_ns = hrt_clock_process_cpu_ns(),
        .thread_cpu_ns = hrt_clock_thread_cpu_ns(),
        .thread_id = gettid(),
        .voluntary_switches = used.ru_nvcsw,
        .involuntary_switches = used.ru_nivcsw,
    };
}

void cbench_block_begin(cbench_block *block, int64_t first_deadline_ns, int64_t interval_ns) {
    block->count = 0;
    block->first_deadline_ns = first_deadline_ns;
    block->interval_ns = interval_ns;
    block->next_deadline_ns = first_deadline_ns;
}

bool cbench_block_fire(cbench_block *block, int64_t woke_ns) {
    int64_t late_ns = woke_ns - block->next_deadline_ns;
    int64_t missed = late_ns > 0 ? late_ns / block->interval_ns : 0;
    return cbench_block_fire_for(block, woke_ns, 1 + missed);
}

bool cbench_block_fire_for(cbench_block *block, int64_t woke_ns, int64_t deadlines) {
    if (block->count == block->capacity) return false;
    if (block->settling > 0) {
        block->settling--;
        block->next_deadline_ns += deadlines * block->interval_ns;
        return true;
    }
    block->fires[block->count] =
        (cbench_fire){.deadline_ns = block->next_deadline_ns, .woke_ns = woke_ns};
    block->next_deadline_ns += deadlines * block->interval_ns;
    block->count += 1;
    if (cbench_stop_requested()) block->capacity = block->count;
    if (block->count == 1) block->at_first = cbench_usage_now();
    if (block->count < block->capacity) return true;
    block->at_last = cbench_usage_now();
    return false;
}

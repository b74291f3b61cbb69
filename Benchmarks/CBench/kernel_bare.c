// SPDX-License-Identifier: Apache-2.0
// The least that a fire can cost.
#include <errno.h>

#include "cbench_kernel.h"
#include "cbench_thread.h"

// Missed deadlines are fired late, one after the other: this loop has no code to skip them.
int cbench_bare_loop(cbench_block *block) {
    size_t settling = block->settling, fires = block->capacity;
    for (size_t fire = 0; fire < settling + fires; fire++) {
        struct timespec deadline = hrt_timespec_from_ns(block->next_deadline_ns);
        int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
        if (error != 0 && error != EINTR) return -error;
        int64_t woke_ns = cbench_now_ns();
        if (error == EINTR && woke_ns < block->next_deadline_ns) {
            fire--;
            continue;
        }
        if (fire >= settling) {
            block->fires[block->count++] = (cbench_fire){
                .deadline_ns = block->next_deadline_ns,
                .woke_ns = woke_ns,
                .processor = cbench_processor(),
            };
            if (block->count == 1) block->at_first = cbench_usage_with(block->counters);
            if (cbench_stop_requested()) break;
        }
        block->next_deadline_ns += block->interval_ns;
    }
    block->at_last = cbench_usage_with(block->counters);
    block->settling = 0;
    block->capacity = block->count;
    cbench_block_order(block);
    return 0;
}

// The least that a fire can cost, and the least lateness of a fire on another thread.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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

struct hop {
    cbench_block *block;
    _Atomic uint32_t fires;  // deadlines that have come
    bool is_over;            // read after a look at `fires`
    int status;
};

static void *wait_for_deadlines(void *argument) {
    struct hop *hop = argument;
    cbench_block *block = hop->block;
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    int64_t deadline_ns = block->next_deadline_ns;
    while (!__atomic_load_n(&hop->is_over, __ATOMIC_ACQUIRE)) {
        struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
        int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
        if (error == EINTR) continue;
        if (error != 0) hop->status = -error;
        atomic_fetch_add_explicit(&hop->fires, 1, memory_order_release);
        syscall(SYS_futex, &hop->fires, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        if (error != 0) break;
        int64_t late_ns = cbench_now_ns() - deadline_ns;
        deadline_ns += block->interval_ns * (1 + late_ns / block->interval_ns);
    }
    return NULL;
}

int cbench_hop(cbench_block *block) {
    struct hop hop = {.block = block};
    pthread_t waiter;
    int error = pthread_create(&waiter, NULL, wait_for_deadlines, &hop);
    if (error != 0) return -error;
    uint32_t seen = 0;
    bool has_more = true;
    while (has_more && hop.status == 0) {
        uint32_t fires;
        while ((fires = atomic_load_explicit(&hop.fires, memory_order_acquire)) == seen) {
            syscall(SYS_futex, &hop.fires, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        }
        seen = fires;
        int64_t woke_ns = cbench_now_ns();
        // If the previous hop took more than an interval, this thread has skipped more deadlines
        // than the other one: it is woken for a deadline that no longer needs a fire.
        if (woke_ns >= block->next_deadline_ns) has_more = cbench_block_fire(block, woke_ns);
    }
    __atomic_store_n(&hop.is_over, true, __ATOMIC_RELEASE);
    pthread_join(waiter, NULL);
    return hop.status;
}

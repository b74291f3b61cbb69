// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_fork.h"

#include <pthread.h>

#include "../hrt_status.h"

uint32_t hrt_fork_count;

// Runs in the child, whose only thread is this one.
static void count_child(void) { __atomic_fetch_add(&hrt_fork_count, 1, __ATOMIC_RELAXED); }

__attribute__((constructor)) static void watch_forks(void) {
    // Fails only with ENOMEM, and this runs before main, where nothing works without memory.
    int error = pthread_atfork(NULL, NULL, count_child);
    if (error != 0) hrt_impossible("pthread_atfork", error);
}
#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef CBENCH_THREAD_H
#define CBENCH_THREAD_H

#include <stddef.h>
#include <stdint.h>

#include "hrt_thread.h"

// Functions for the calling thread, if they do not say otherwise.

// Restricts the thread to the processors whose bits are set in the mask (processors 0 ... 63).
// Returns 0, or -EINVAL if none of them is online or allowed. sched_setaffinity(2)
int cbench_set_affinity(uint64_t cpu_mask);
uint64_t cbench_affinity(void);

// Applies to all threads that the process has now, pools included: restricts them to those
// processors, unless the mask is 0, and gives them the real-time class SCHED_FIFO at its least
// priority, if requested. Threads that they start inherit both. Returns 0, or the negative errno of
// the first refusal. sched_setscheduler(2)
int cbench_set_all_threads(uint64_t cpu_mask, int is_realtime);

// Returns how many threads of the process have another class than SCHED_FIFO.
int cbench_threads_without_realtime(void);

// Returns the processor time that the thread has used so far. clock_gettime(2)
int64_t cbench_thread_cpu_ns(void);

// Blocks the thread until CLOCK_MONOTONIC reads deadline_ns or later. clock_nanosleep(2)
void cbench_sleep_until(int64_t deadline_ns);

// Where the kernel writes each thread's processor, relative to the thread pointer; 0 if it does
// not. Set when this library is loaded. rseq(2)
extern ptrdiff_t cbench_processor_offset;

// sched_getcpu(3).
int cbench_ask_processor(void);

// Returns the processor on which the calling thread runs, by a load: the pages of code and tables
// that a call needs would be a part of each fire.
static inline int cbench_processor(void) {
    if (__builtin_expect(cbench_processor_offset == 0, 0)) return cbench_ask_processor();
    const char *thread = (const char *)hrt_thread_pointer();
    return *(const volatile int32_t *)(thread + cbench_processor_offset);
}

#endif

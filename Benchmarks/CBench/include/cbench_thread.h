#ifndef CBENCH_THREAD_H
#define CBENCH_THREAD_H

#include <stdint.h>

// The calling thread.

// Restricts it to the processors whose bits are set in the mask (processors 0 ... 63). 0, or
// -EINVAL if none of them is online or allowed. sched_setaffinity(2)
int cbench_set_affinity(uint64_t cpu_mask);
uint64_t cbench_affinity(void);

// Processor time that it has used so far. clock_gettime(2)
int64_t cbench_thread_cpu_ns(void);

// Blocks it until CLOCK_MONOTONIC reads deadline_ns or later. clock_nanosleep(2)
void cbench_sleep_until(int64_t deadline_ns);

#endif

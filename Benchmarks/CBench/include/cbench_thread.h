#ifndef CBENCH_THREAD_H
#define CBENCH_THREAD_H

#include <stdint.h>

// The calling thread.

// Restricts it to the processors whose bits are set in the mask (processors 0 ... 63). 0, or
// -EINVAL if none of them is online or allowed. sched_setaffinity(2)
int cbench_set_affinity(uint64_t cpu_mask);
uint64_t cbench_affinity(void);

// All threads that the process has now, pools too: those processors, unless the mask is 0, and the
// real-time class SCHED_FIFO at its least priority, if asked for. Threads that they start inherit
// both. 0, or the negative errno of the first refusal. sched_setscheduler(2)
int cbench_set_all_threads(uint64_t cpu_mask, int is_realtime);

// How many threads of the process have another class than SCHED_FIFO.
int cbench_threads_without_realtime(void);

// Processor time that it has used so far. clock_gettime(2)
int64_t cbench_thread_cpu_ns(void);

// Blocks it until CLOCK_MONOTONIC reads deadline_ns or later. clock_nanosleep(2)
void cbench_sleep_until(int64_t deadline_ns);

#endif

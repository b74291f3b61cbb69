// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_THREAD_COUNTS_H
#define HRT_THREAD_COUNTS_H

#include <stdint.h>

#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the kernel has counted for a thread so far. Two readings show why the thread was late.
typedef struct {
    int64_t cpu_ns;              // time on a processor, CLOCK_THREAD_CPUTIME_ID
    int64_t run_delay_ns;        // runnable but not running; -1 where the kernel does not count it
    int64_t minor_faults;        // page faults without input or output, getrusage(2)
    int64_t major_faults;        // page faults with input or output
    int64_t voluntary_switches;  // the thread waited or was stopped
    int64_t involuntary_switches;  // the thread was preempted
} hrt_thread_counts;

// Opens the file that has the run delay of the calling thread. Only this thread may pass it to
// hrt_thread_counts_read; the caller closes it with close(2). Returns -1 without CONFIG_SCHED_INFO,
// /proc or a free descriptor.
int hrt_thread_counts_open(void);

// Reads the counts of the calling thread: clock_gettime(2), getrusage(2) and a read of `file`,
// together a microsecond or two.
void hrt_thread_counts_read(int file, hrt_thread_counts *_Nonnull counts);

// Returns the time that the host took from all processors of this machine, in ns: the column
// "steal" of /proc/stat, proc_stat(5). It advances in steps of a clock tick, 10 ms. 0 where the
// kernel does not count it. Takes tens of microseconds.
int64_t hrt_stolen_ns(void);

// Returns how long the processor quota has kept the calling thread's cgroup from running, in ns:
// cpu.stat, Documentation/admin-guide/cgroup-v2.rst. -1 where that cannot be read.
int64_t hrt_throttled_ns(void);

// Returns how long a page fault for a page of zeros takes here, in ns: the median of several,
// measured once, by the first call. Any thread.
int64_t hrt_page_fault_ns(void);

#ifdef __cplusplus
}
#endif

#endif

#ifndef HRT_THREAD_COUNTS_H
#define HRT_THREAD_COUNTS_H

#include <stdint.h>

// What the kernel has counted of a thread so far: from two readings follows why it was late.
typedef struct {
    int64_t cpu_ns;              // on a processor, CLOCK_THREAD_CPUTIME_ID
    int64_t run_delay_ns;        // runnable and not run; -1 where the kernel does not count it
    int64_t minor_faults;        // page faults without input or output, getrusage(2)
    int64_t major_faults;        // those with it
    int64_t voluntary_switches;  // it waited or was stopped
    int64_t involuntary_switches;  // it was preempted
} hrt_thread_counts;

// The file that has the run delay of the calling thread, to be given to hrt_thread_counts_read by
// this thread alone, and to close(2). -1 without CONFIG_SCHED_INFO, /proc or a descriptor.
int hrt_thread_counts_open(void);

// Of the calling thread: two clock readings and a read of `file`, together a microsecond or two.
void hrt_thread_counts_read(int file, hrt_thread_counts *_Nonnull counts);

// What the host took from all processors of this machine, in ns: the column "steal" of /proc/stat,
// proc_stat(5). In steps of a clock tick, 10 ms. 0 where it is not counted. Tens of microseconds.
int64_t hrt_stolen_ns(void);

// How long the processors' quota of the calling thread's cgroup has kept it from running, in ns:
// cpu.stat, Documentation/admin-guide/cgroup-v2.rst. -1 where that cannot be read.
int64_t hrt_throttled_ns(void);

// What a page fault of a page of zeros takes here, in ns: the median of some, measured once, by the
// first call. Any thread.
int64_t hrt_page_fault_ns(void);

#endif

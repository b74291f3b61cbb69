// SPDX-License-Identifier: Apache-2.0
#ifndef CBENCH_HOST_H
#define CBENCH_HOST_H

#include <stdint.h>

// Probes for what the kernel and the machine can do for timers. They change nothing: a probe closes
// whatever it opens. Each returns 0 if the call works, or the negative errno of the refusal.
int cbench_probe_timerfd(void);
int cbench_probe_epoll_pwait2(void);
int cbench_probe_io_uring(void);
int cbench_probe_futex_waitv(void);
int cbench_probe_perf_events(void);
int cbench_probe_clock(int32_t clock);

// Reads the clock on the calling thread for `duration_ns`, and returns the longest time between two
// readings. What interrupts this thread also interrupts a thread that waits for its deadline.
int64_t cbench_longest_gap_ns(int64_t duration_ns);

// The linked libevent: its version, and the method by which its loops wait. The strings have static
// storage; the method is NULL if there is no memory.
const char *_Nonnull cbench_libevent_version(void);
const char *_Nullable cbench_libevent_method(void);

// Returns "address" or "thread" if the program was built for that sanitizer, otherwise NULL.
const char *_Nullable cbench_sanitizer(void);

#endif

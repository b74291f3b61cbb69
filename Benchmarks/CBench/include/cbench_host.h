#ifndef CBENCH_HOST_H
#define CBENCH_HOST_H

#include <stdint.h>

// What the kernel and the machine can do for timers, found by trying it. Nothing is changed: what a
// probe opens it closes. Each gives 0 if the call works, or the negative errno it was refused with.
int cbench_probe_timerfd(void);
int cbench_probe_epoll_pwait2(void);
int cbench_probe_io_uring(void);
int cbench_probe_futex_waitv(void);
int cbench_probe_perf_events(void);
int cbench_probe_clock(int32_t clock);

// The longest time for which this thread, which only reads the clock for `duration_ns`, was away.
// What interrupts it interrupts a thread that waits for its deadline too.
int64_t cbench_longest_gap_ns(int64_t duration_ns);

// libevent as it is linked: its version, and how its loops wait. Of static storage; NULL without
// memory.
const char *_Nonnull cbench_libevent_version(void);
const char *_Nullable cbench_libevent_method(void);

// "address" or "thread" if the program was built for that sanitizer, otherwise NULL.
const char *_Nullable cbench_sanitizer(void);

#endif

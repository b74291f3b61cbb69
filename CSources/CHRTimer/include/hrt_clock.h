// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_CLOCK_H
#define HRT_CLOCK_H

#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

// No deadline: later than any instant.
#define HRT_NEVER INT64_MAX
#define HRT_NS_PER_S INT64_C(1000000000)

typedef enum {
    HRT_CLOCK_WALL = CLOCK_REALTIME,        // follows settimeofday and leap seconds
    HRT_CLOCK_MONOTONIC = CLOCK_MONOTONIC,  // stands still while the system is suspended
    HRT_CLOCK_BOOT = CLOCK_BOOTTIME,        // goes on while the system is suspended
} hrt_clock;

// Converts ns since the clock's zero to the kernel's format. Negative instants become 0, the
// earliest that the kernel accepts (clock_nanosleep(2): EINVAL for a negative tv_sec).
static inline struct timespec hrt_timespec_from_ns(int64_t instant_ns) {
    if (instant_ns < 0) instant_ns = 0;
    struct timespec instant;
    instant.tv_sec = instant_ns / HRT_NS_PER_S;
    instant.tv_nsec = instant_ns % HRT_NS_PER_S;
    return instant;
}

static inline int64_t hrt_ns_from_timespec(struct timespec instant) {
    return (int64_t)instant.tv_sec * HRT_NS_PER_S + instant.tv_nsec;
}

// Returns the clock's reading, in ns since its zero. Any thread. No system call where the vDSO
// serves the clock.
static inline int64_t hrt_clock_now_ns(hrt_clock clock) {
    struct timespec now;
    clock_gettime((clockid_t)clock, &now);  // cannot fail: the clock exists, the address is valid
    return hrt_ns_from_timespec(now);
}

// Returns the processor time that the whole process has used so far, in ns.
static inline int64_t hrt_clock_process_cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return hrt_ns_from_timespec(used);
}

// Returns the step between readings of the clock, in ns, if that is too coarse for exact waits: 1
// ms in containers on some hosts. 0 if the clock is fine. Determined once. Any thread.
// clock_getres(2)
int64_t hrt_clock_tick_ns(hrt_clock clock);

#ifdef __cplusplus
}
#endif

#endif

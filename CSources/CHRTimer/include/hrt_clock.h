#ifndef HRT_CLOCK_H
#define HRT_CLOCK_H

#include <stdint.h>
#include <time.h>

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
    return (struct timespec){.tv_sec = instant_ns / HRT_NS_PER_S,
                             .tv_nsec = instant_ns % HRT_NS_PER_S};
}

static inline int64_t hrt_ns_from_timespec(struct timespec instant) {
    return (int64_t)instant.tv_sec * HRT_NS_PER_S + instant.tv_nsec;
}

// The vDSO's clock_gettime, found when this library is loaded; vdso(7). NULL where there is none,
// and where the program or another library has replaced the C library's clock_gettime(3). The C
// library calls it through several pages of code and tables, which are in no cache after some
// milliseconds of idleness.
typedef int hrt_clock_function(clockid_t clock, struct timespec *_Nonnull now);
extern hrt_clock_function *_Nullable hrt_clock_of_vdso;

// Returns the clock's reading, in ns since its zero. Any thread. No system call where the vDSO
// serves the clock.
static inline int64_t hrt_clock_now_ns(hrt_clock clock) {
    struct timespec now;
    // Neither can fail: the clock exists, and the address is valid.
    if (__builtin_expect(hrt_clock_of_vdso != NULL, 1)) {
        hrt_clock_of_vdso((clockid_t)clock, &now);
    } else {
        clock_gettime((clockid_t)clock, &now);
    }
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

#endif

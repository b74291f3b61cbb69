// For LD_PRELOAD, ld.so(8): clocks that tick once a millisecond, as they do in containers on some
// hosts. What the kernel's timers go by stays as fine as it is. COARSE_CLOCK_PHASE_NS says where in
// a millisecond the tick is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static const int64_t TICK_NS = 1000 * 1000, NS_PER_S = 1000 * 1000 * 1000;

static int is_coarse(clockid_t clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME;
}

static int64_t phase_ns(void) {
    const char *phase = getenv("COARSE_CLOCK_PHASE_NS");
    return phase == NULL ? 0 : atoll(phase);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    static int64_t phase;
    if (real == NULL) {
        phase = phase_ns();
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    }
    int status = real(clock, time);
    if (status != 0 || !is_coarse(clock)) return status;
    int64_t now_ns = time->tv_sec * NS_PER_S + time->tv_nsec - phase;
    now_ns = now_ns / TICK_NS * TICK_NS + phase;
    *time = (struct timespec){.tv_sec = now_ns / NS_PER_S, .tv_nsec = now_ns % NS_PER_S};
    return 0;
}

int clock_getres(clockid_t clock, struct timespec *resolution) {
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL) {
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_getres");
    }
    int status = real(clock, resolution);
    if (status == 0 && is_coarse(clock) && resolution != NULL) {
        *resolution = (struct timespec){.tv_nsec = TICK_NS};
    }
    return status;
}

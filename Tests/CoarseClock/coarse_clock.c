// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD, ld.so(8), whose clocks tick once a millisecond, as they do in
// containers on some hosts. The clocks of the kernel's timers stay as fine as they are.
// COARSE_CLOCK_PHASE_NS sets where in a millisecond the tick is. COARSE_CLOCK_DRIFT_NS makes
// ticks further apart, by that much, than clock_getres(2) reports. With COARSE_CLOCK_IS_FINE
// clock_getres(2) reports a millisecond, while readings are as fine as ever.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static const int64_t TICK_NS = 1000 * 1000, NS_PER_S = 1000 * 1000 * 1000;

static int is_coarse(clockid_t clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME;
}

static int64_t number(const char *name) {
    const char *text = getenv(name);
    return text == NULL ? 0 : atoll(text);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    static int64_t phase, tick, is_fine;
    if (real == NULL) {
        phase = number("COARSE_CLOCK_PHASE_NS");
        tick = TICK_NS + number("COARSE_CLOCK_DRIFT_NS");
        is_fine = number("COARSE_CLOCK_IS_FINE");
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    }
    int status = real(clock, time);
    if (status != 0 || is_fine || !is_coarse(clock)) return status;
    int64_t now_ns = time->tv_sec * NS_PER_S + time->tv_nsec - phase;
    now_ns = now_ns / tick * tick + phase;
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

// SPDX-License-Identifier: Apache-2.0
// What a thread can do when it must not sleep any more: read the clock, or the processor's counter
// instead, or halt in the processor until the counter has reached a value. And what programs often
// do themselves: sleep until some time before the deadline, and spin the rest. The stamp is the
// last reading of the clock.
#include <errno.h>
#include <sched.h>

#include "kernel_wait.h"

static inline int64_t read_clock(void *context, int64_t deadline_ns) {
    (void)context;
    int64_t now_ns;
    do {
        now_ns = cbench_now_ns();
    } while (now_ns < deadline_ns);
    return now_ns;
}

int cbench_spin_clock(cbench_block *block) { return cbench_fill(block, read_clock, NULL); }

#if defined(__x86_64__)

#include <cpuid.h>
#include <x86intrin.h>

// Intel's manual, volume 3, 19.17.1: the counter runs at a constant rate in all states of the
// processor.
static bool has_invariant_counter(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0;
}

static bool has_umwait(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & 1U << 5) != 0;
}

// Returns the ticks per ns, measured over 20 ms.
static double measure_rate(void) {
    int64_t start_ns = cbench_now_ns();
    uint64_t start_ticks = __rdtsc();
    int64_t now_ns = read_clock(NULL, start_ns + 20000000);
    return (double)(__rdtsc() - start_ticks) / (double)(now_ns - start_ns);
}

// Returns the counter's value at a deadline, as far as it is known now.
static uint64_t ticks_at(int64_t deadline_ns, double rate) {
    return __rdtsc() + (uint64_t)((double)cbench_left_ns(deadline_ns) * rate);
}

// The clock decides in both: a slightly wrong rate must not make a fire early.

static inline int64_t read_counter(void *rate, int64_t deadline_ns) {
    int64_t now_ns;
    do {
        uint64_t ticks = ticks_at(deadline_ns, *(double *)rate);
        while (__rdtsc() < ticks) {}
        now_ns = cbench_now_ns();
    } while (now_ns < deadline_ns);
    return now_ns;
}

// CPUID must report the instruction, and the system may limit its duration: IA32_UMWAIT_CONTROL.
// Nothing writes the watched line.
__attribute__((target("waitpkg"))) static void stand_still_until(uint64_t ticks) {
    static char watched __attribute__((aligned(64)));
    while (__rdtsc() < ticks) {
        _umonitor(&watched);
        _umwait(1, ticks);  // C0.1, the state that the processor leaves faster
    }
}

static inline int64_t stand_still(void *rate, int64_t deadline_ns) {
    int64_t now_ns;
    do {
        stand_still_until(ticks_at(deadline_ns, *(double *)rate));
        now_ns = cbench_now_ns();
    } while (now_ns < deadline_ns);
    return now_ns;
}

__attribute__((always_inline)) static inline int with_rate(cbench_block *block, cbench_wait *wait) {
    double rate = measure_rate();
    // Deadlines that passed during the measurement do not count as missed.
    int64_t first_ns = block->first_deadline_ns;
    while (first_ns <= cbench_now_ns()) first_ns += block->interval_ns;
    cbench_block_begin(block, first_ns, block->interval_ns);
    return cbench_fill(block, wait, &rate);
}

int cbench_spin_tsc(cbench_block *block) {
    return has_invariant_counter() ? with_rate(block, read_counter) : -ENOTSUP;
}

int cbench_umwait(cbench_block *block) {
    return has_invariant_counter() && has_umwait() ? with_rate(block, stand_still) : -ENOTSUP;
}

#else

int cbench_spin_tsc(cbench_block *block) {
    (void)block;
    return -ENOTSUP;
}

int cbench_umwait(cbench_block *block) {
    (void)block;
    return -ENOTSUP;
}

#endif

// Returns 0 or a negative errno. Continues to sleep after an interruption.
static int sleep_until(int64_t wake_ns) {
    struct timespec wake = hrt_timespec_from_ns(wake_ns);
    int error;
    do {
        error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    } while (error == EINTR);
    return -error;
}

static inline int64_t sleep_and_read_clock(void *margin_ns, int64_t deadline_ns) {
    int status = sleep_until(deadline_ns - *(int64_t *)margin_ns);
    return status == 0 ? read_clock(NULL, deadline_ns) : status;
}

int cbench_hybrid(cbench_block *block, int64_t margin_ns) {
    return cbench_fill(block, sleep_and_read_clock, &margin_ns);
}

static bool handle(cbench_block *block) { return cbench_block_fire(block, cbench_now_ns()); }

// Volatile, so that the loop knows its handler by the address alone.
static bool (*volatile handler)(cbench_block *) = handle;

int cbench_called(cbench_block *block, int64_t margin_ns) {
    do {
        int64_t woke_ns = sleep_and_read_clock(&margin_ns, block->next_deadline_ns);
        if (woke_ns < 0) return (int)woke_ns;
    } while (handler(block));
    return 0;
}

static void pause_processor(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

// Like SDL_DelayPrecise of SDL 3: naps of 1 ms as long as the longest one so far would end in time,
// then one nap for the rest less the time by which naps overslept, and a spin. Each call learns
// anew how far naps oversleep.
static inline int64_t nap_and_spin(void *context, int64_t deadline_ns) {
    (void)context;
    enum { NAP_NS = 1000000 };
    int64_t longest_ns = NAP_NS, now_ns = cbench_now_ns();
    while (now_ns + longest_ns < deadline_ns) {
        int64_t begun_ns = now_ns;
        int status = sleep_until(begun_ns + NAP_NS);
        if (status != 0) return status;
        now_ns = cbench_now_ns();
        if (now_ns - begun_ns > longest_ns) longest_ns = now_ns - begun_ns;
    }
    int64_t overslept_ns = longest_ns - NAP_NS;
    if (now_ns < deadline_ns && deadline_ns - now_ns > overslept_ns) {
        int status = sleep_until(deadline_ns - overslept_ns);
        if (status != 0) return status;
        now_ns = cbench_now_ns();
    }
    while (now_ns < deadline_ns) {
        pause_processor();
        now_ns = cbench_now_ns();
    }
    return now_ns;
}

int cbench_sdl_delay_precise(cbench_block *block) { return cbench_fill(block, nap_and_spin, NULL); }

// Like the crate spin_sleep outside of Windows: sleeps until 125 us before the deadline, and spins
// the rest with yields.
static inline int64_t sleep_and_yield(void *context, int64_t deadline_ns) {
    (void)context;
    enum { ACCURACY_NS = 125000 };
    if (cbench_left_ns(deadline_ns) > ACCURACY_NS) {
        int status = sleep_until(deadline_ns - ACCURACY_NS);
        if (status != 0) return status;
    }
    int64_t now_ns;
    while ((now_ns = cbench_now_ns()) < deadline_ns) sched_yield();
    return now_ns;
}

int cbench_spin_sleep(cbench_block *block) { return cbench_fill(block, sleep_and_yield, NULL); }

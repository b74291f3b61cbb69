// What a thread can do when it must not sleep any more: read the clock, or the processor's counter
// instead, or halt in the processor until the counter has reached a value.
#include <errno.h>

#include "cbench_kernel.h"

int cbench_spin_clock(cbench_block *block) {
    int64_t woke_ns;
    do {
        do {
            woke_ns = cbench_now_ns();
        } while (woke_ns < block->next_deadline_ns);
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}

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
    int64_t start_ns = cbench_now_ns(), now_ns;
    uint64_t start_ticks = __rdtsc();
    do {
        now_ns = cbench_now_ns();
    } while (now_ns < start_ns + 20000000);
    return (double)(__rdtsc() - start_ticks) / (double)(now_ns - start_ns);
}

// Returns the counter's value at a deadline, as far as it is known now.
static uint64_t ticks_at(int64_t deadline_ns, double rate) {
    int64_t left_ns = deadline_ns - cbench_now_ns();
    return __rdtsc() + (left_ns > 0 ? (uint64_t)((double)left_ns * rate) : 0);
}

static void spin_until(uint64_t ticks) {
    while (__rdtsc() < ticks) {}
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

// The clock decides: a slightly wrong rate must not make a fire early.
static int wait_by(void (*wait_until)(uint64_t ticks), cbench_block *block) {
    double rate = measure_rate();
    // Deadlines that passed during the measurement do not count as missed.
    int64_t first_ns = block->first_deadline_ns;
    while (first_ns <= cbench_now_ns()) first_ns += block->interval_ns;
    cbench_block_begin(block, first_ns, block->interval_ns);
    int64_t woke_ns;
    do {
        do {
            wait_until(ticks_at(block->next_deadline_ns, rate));
            woke_ns = cbench_now_ns();
        } while (woke_ns < block->next_deadline_ns);
    } while (cbench_block_fire(block, woke_ns));
    return 0;
}

int cbench_spin_tsc(cbench_block *block) {
    return has_invariant_counter() ? wait_by(spin_until, block) : -ENOTSUP;
}

int cbench_umwait(cbench_block *block) {
    return has_invariant_counter() && has_umwait() ? wait_by(stand_still_until, block) : -ENOTSUP;
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

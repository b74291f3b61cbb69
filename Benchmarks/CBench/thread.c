#include <errno.h>
#include <sched.h>
#include <time.h>

#include "cbench_thread.h"
#include "hrt_clock.h"

int cbench_set_affinity(uint64_t cpu_mask) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int cpu = 0; cpu < 64; cpu++) {
        if (cpu_mask >> cpu & 1) CPU_SET(cpu, &cpus);
    }
    return sched_setaffinity(0, sizeof cpus, &cpus) == 0 ? 0 : -errno;
}

uint64_t cbench_affinity(void) {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 0;
    uint64_t cpu_mask = 0;
    for (int cpu = 0; cpu < 64; cpu++) {
        if (CPU_ISSET(cpu, &cpus)) cpu_mask |= UINT64_C(1) << cpu;
    }
    return cpu_mask;
}

int64_t cbench_thread_cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return hrt_ns_from_timespec(used);
}

void cbench_sleep_until(int64_t deadline_ns) {
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR) continue;
}

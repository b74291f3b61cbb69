#include "include/hrt_thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int hrt_thread_set_timer_slack_ns(uint64_t slack_ns) {
    if (slack_ns == 0 || slack_ns > LONG_MAX) return -EINVAL;
    return prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0) == 0 ? 0 : -errno;
}

uint64_t hrt_thread_timer_slack_ns(void) {
    return (uint64_t)prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
}

void hrt_thread_set_name(const char *name) {
    char kept[16];  // TASK_COMM_LEN
    strncpy(kept, name, sizeof kept - 1);
    kept[sizeof kept - 1] = '\0';
    pthread_setname_np(pthread_self(), kept);
}

int hrt_thread_set_affinity(uint64_t cpu_mask) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int cpu = 0; cpu < 64; cpu++) {
        if (cpu_mask >> cpu & 1) CPU_SET(cpu, &cpus);
    }
    return sched_setaffinity(0, sizeof cpus, &cpus) == 0 ? 0 : -errno;
}

uint64_t hrt_thread_affinity(void) {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 0;
    uint64_t cpu_mask = 0;
    for (int cpu = 0; cpu < 64; cpu++) {
        if (CPU_ISSET(cpu, &cpus)) cpu_mask |= UINT64_C(1) << cpu;
    }
    return cpu_mask;
}

int32_t hrt_thread_id(void) {
    return (int32_t)gettid();
}

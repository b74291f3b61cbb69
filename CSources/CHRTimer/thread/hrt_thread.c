#ifdef __linux__
#include "../include/hrt_thread.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../hrt_status.h"

int hrt_thread_set_timer_slack_ns(uint64_t slack_ns) {
    if (slack_ns == 0 || slack_ns > LONG_MAX) return -EINVAL;
    return HRT_STATUS(prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0));
}

uint64_t hrt_thread_timer_slack_ns(void) { return (uint64_t)prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0); }

void hrt_thread_set_name(const char *name) {
    char kept[16];  // TASK_COMM_LEN
    strncpy(kept, name, sizeof kept - 1);
    kept[sizeof kept - 1] = '\0';
    pthread_setname_np(pthread_self(), kept);
}

int hrt_thread_set_processors(const uint32_t *processors, size_t count) {
    // CONFIG_NR_CPUS, the kernel's own bound, is nowhere above this.
    enum { MOST = 8192 };
    size_t size = CPU_ALLOC_SIZE(MOST);
    cpu_set_t *cpus = CPU_ALLOC(MOST);
    if (cpus == NULL) return -ENOMEM;
    CPU_ZERO_S(size, cpus);
    int status = 0;
    for (size_t index = 0; index < count; index++) {
        if (processors[index] >= MOST) status = -EINVAL;
        CPU_SET_S(processors[index], size, cpus);  // out of range it does nothing
    }
    if (status == 0) status = HRT_STATUS(sched_setaffinity(0, size, cpus));
    CPU_FREE(cpus);
    return status;
}

// struct sched_attr of linux/sched/types.h, which cannot be included together with the sched.h of
// every libc.
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
};

int hrt_thread_set_schedule(const hrt_schedule *schedule) {
    struct attributes attributes = {
        .size = sizeof attributes,
        .policy = schedule->policy,
        .flags = 1,  // SCHED_FLAG_RESET_ON_FORK
        .nice = schedule->nice,
        .priority = schedule->priority,
        .runtime_ns = schedule->runtime_ns,
        .deadline_ns = schedule->deadline_ns,
        .period_ns = schedule->period_ns,
    };
    return HRT_STATUS(syscall(SYS_sched_setattr, 0, &attributes, 0));
}

int32_t hrt_thread_id(void) { return (int32_t)gettid(); }
#endif

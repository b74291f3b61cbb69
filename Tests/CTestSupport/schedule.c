#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CTestSupport.h"

int ctest_thread_schedule(ctest_schedule *out_schedule) {
    // struct sched_attr of linux/sched/types.h, which cannot be included beside the sched.h of
    // every libc.
    struct {
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns;
        uint64_t deadline_ns;
        uint64_t period_ns;
    } attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return -errno;
    *out_schedule = (ctest_schedule){
        .policy = attributes.policy,
        .nice = attributes.nice,
        .priority = attributes.priority,
        .runtime_ns = attributes.runtime_ns,
        .deadline_ns = attributes.deadline_ns,
        .period_ns = attributes.period_ns,
    };
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

#include "cbench_thread.h"
#include "hrt_clock.h"

static int set_affinity(pid_t thread, uint64_t cpu_mask) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int cpu = 0; cpu < 64; cpu++) {
        if (cpu_mask >> cpu & 1) CPU_SET(cpu, &cpus);
    }
    return sched_setaffinity(thread, sizeof cpus, &cpus) == 0 ? 0 : -errno;
}

int cbench_set_affinity(uint64_t cpu_mask) { return set_affinity(0, cpu_mask); }

// Calls `visit` for each thread of the process, proc_pid_task(5). It is no error if a thread ends
// in the meantime.
static int each_thread(int (*visit)(pid_t thread, void *context), void *context) {
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) return -errno;
    int status = 0;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        pid_t thread = (pid_t)atoi(task->d_name);
        int error = thread > 0 ? visit(thread, context) : 0;
        if (status == 0 && error != -ESRCH) status = error;
    }
    closedir(tasks);
    return status;
}

struct setting {
    uint64_t cpu_mask;
    int is_realtime;
};

static int set_thread(pid_t thread, void *context) {
    const struct setting *setting = context;
    int status = setting->cpu_mask != 0 ? set_affinity(thread, setting->cpu_mask) : 0;
    // A higher priority would compete with the kernel's own threads.
    struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    if (setting->is_realtime && sched_setscheduler(thread, SCHED_FIFO, &least) != 0)
        status = -errno;
    return status;
}

int cbench_set_all_threads(uint64_t cpu_mask, int is_realtime) {
    struct setting setting = {cpu_mask, is_realtime};
    return each_thread(set_thread, &setting);
}

static int count_without_realtime(pid_t thread, void *context) {
    int policy = sched_getscheduler(thread);
    if (policy >= 0 && policy != SCHED_FIFO) ++*(int *)context;
    return 0;
}

int cbench_threads_without_realtime(void) {
    int threads = 0;
    each_thread(count_without_realtime, &threads);
    return threads;
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

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#pragma weak __rseq_offset
#pragma weak __rseq_size

__attribute__((constructor)) static void find_processor(void) {
    if (&__rseq_size == NULL || __rseq_size == 0) return;  // GLIBC_TUNABLES may turn it off
    cbench_processor_offset = __rseq_offset + (ptrdiff_t)offsetof(struct rseq, cpu_id);
}
#endif

ptrdiff_t cbench_processor_offset;

int cbench_ask_processor(void) { return sched_getcpu(); }

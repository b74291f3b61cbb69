// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

static void *read_schedule(void *out_schedule) {
    (void)ctest_thread_schedule(out_schedule);
    return NULL;
}

int ctest_thread_schedule_of_thread(ctest_schedule *out_schedule) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, read_schedule, out_schedule);
    return error != 0 ? -error : -pthread_join(thread, NULL);
}

int ctest_thread_schedule_of_child(ctest_schedule *out_schedule) {
    int ends[2];
    if (pipe(ends) != 0) return -errno;
    pid_t child = fork();
    if (child == 0) {
        ctest_schedule schedule;
        if (ctest_thread_schedule(&schedule) == 0)
            (void)!write(ends[1], &schedule, sizeof schedule);
        _exit(0);
    }
    close(ends[1]);
    bool is_read =
        child > 0 && read(ends[0], out_schedule, sizeof *out_schedule) == sizeof *out_schedule;
    close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
    return is_read ? 0 : -ECHILD;
}

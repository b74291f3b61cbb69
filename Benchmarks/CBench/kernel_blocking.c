// Locks, semaphores and message queues of the C library. Nothing signals, posts or sends, so that
// each wait ends at its deadline.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cbench_waits.h"
#include "kernel_wait.h"

struct condition {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

// Returns the status of a condition wait. An `error` of 0 is a spurious wakeup
// (pthread_cond_wait(3)).
static int status_of(int error) { return error == ETIMEDOUT ? 0 : error == 0 ? -EINTR : -error; }

static int wait_by_monotonic_clock(void *context, int64_t deadline_ns) {
    struct condition *condition = context;
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    return status_of(pthread_cond_clockwait(&condition->changed, &condition->mutex, CLOCK_MONOTONIC,
                                            &deadline));
}

static int wait_by_wall_clock(void *context, int64_t deadline_ns) {
    struct condition *condition = context;
    struct timespec deadline = hrt_timespec_from_ns(cbench_wall_deadline_ns(deadline_ns));
    return status_of(pthread_cond_timedwait(&condition->changed, &condition->mutex, &deadline));
}

static int with_condition(cbench_block *block, cbench_wait *wait) {
    struct condition condition = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&condition.mutex);
    int status = cbench_fill_absolute(block, wait, &condition);
    pthread_mutex_unlock(&condition.mutex);
    pthread_cond_destroy(&condition.changed);
    pthread_mutex_destroy(&condition.mutex);
    return status;
}

int cbench_cond_clockwait(cbench_block *block) {
    return with_condition(block, wait_by_monotonic_clock);
}

int cbench_cond_timedwait(cbench_block *block) { return with_condition(block, wait_by_wall_clock); }

static int take_by_monotonic_clock(void *context, int64_t deadline_ns) {
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    int status = sem_clockwait(context, CLOCK_MONOTONIC, &deadline);
    return status != 0 && errno != ETIMEDOUT ? -errno : 0;
}

static int take_by_wall_clock(void *context, int64_t deadline_ns) {
    struct timespec deadline = hrt_timespec_from_ns(cbench_wall_deadline_ns(deadline_ns));
    return sem_timedwait(context, &deadline) != 0 && errno != ETIMEDOUT ? -errno : 0;
}

static int with_semaphore(cbench_block *block, cbench_wait *wait) {
    sem_t semaphore;
    if (sem_init(&semaphore, 0, 0) != 0) return -errno;
    int status = cbench_fill_absolute(block, wait, &semaphore);
    sem_destroy(&semaphore);
    return status;
}

int cbench_sem_clockwait(cbench_block *block) {
    return with_semaphore(block, take_by_monotonic_clock);
}

int cbench_sem_timedwait(cbench_block *block) { return with_semaphore(block, take_by_wall_clock); }

// Called by number: older C libraries have these functions in a separate library. The kernel's
// names have no slash.
static int receive(void *context, int64_t deadline_ns) {
    struct timespec deadline = hrt_timespec_from_ns(cbench_wall_deadline_ns(deadline_ns));
    char message[8];
    long size = syscall(SYS_mq_timedreceive, *(int *)context, message, sizeof message, NULL,
                        &deadline);
    return size < 0 && errno != ETIMEDOUT ? -errno : 0;
}

int cbench_mq_timedreceive(cbench_block *block) {
    char name[64];
    snprintf(name, sizeof name, "bench-%d-%d", getpid(), gettid());
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    int queue = (int)syscall(SYS_mq_open, name, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600,
                             &attributes);
    if (queue < 0) return -errno;
    syscall(SYS_mq_unlink, name);
    int status = cbench_fill_absolute(block, receive, &queue);
    close(queue);
    return status;
}

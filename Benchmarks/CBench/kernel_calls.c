// SPDX-License-Identifier: Apache-2.0
// Calls of the kernel and of the C library that end at a time: one call for each deadline. Nothing
// signals, posts or sends, so that each ends at its deadline.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_wait.h"

#ifndef SYS_epoll_pwait2
// The same number on every architecture, as for all system calls since 424.
#define SYS_epoll_pwait2 441
#endif

// Begins the definition of a wait, whose loop needs a `context` or not.
#define WAIT(name)                                                                                 \
    static inline int64_t name(__attribute__((unused)) void *context, int64_t deadline_ns)

// Begins the definition of a wait that needs no context, and defines the loop cbench_NAME of it.
#define LOOP(name)                                                                                 \
    WAIT(wait_by_##name);                                                                          \
    int cbench_##name(cbench_block *block) { return cbench_fill(block, wait_by_##name, NULL); }    \
    WAIT(wait_by_##name)

// The errno of a call that returns -1 if it fails.
static int error_of(long result) { return result < 0 ? errno : 0; }

static struct timespec left(int64_t deadline_ns) {
    return hrt_timespec_from_ns(cbench_left_ns(deadline_ns));
}

// Rounded up: rounding down would wake early and spin through the rest.
static int left_ms(int64_t deadline_ns) {
    return (int)((cbench_left_ns(deadline_ns) + 999999) / 1000000);
}

// The deadline on CLOCK_REALTIME. The conversion itself never makes it earlier.
static struct timespec wall_deadline(int64_t deadline_ns) {
    int64_t now_ns = cbench_now_ns();
    return hrt_timespec_from_ns(deadline_ns + (cbench_wall_ns() - now_ns));
}

LOOP(clock_nanosleep_abs) {
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    return cbench_woke(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL), 0);
}

LOOP(clock_nanosleep_rel) {
    struct timespec time = left(deadline_ns);
    return cbench_woke(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL), 0);
}

LOOP(nanosleep) {
    struct timespec time = left(deadline_ns);
    return cbench_woke(error_of(nanosleep(&time, NULL)), 0);
}

// FUTEX_WAIT takes a relative timeout, FUTEX_WAIT_BITSET an absolute one (futex(2)). A result of 0
// is a spurious wakeup, which futex(2) allows.
static uint32_t never_woken;
static int futex_error(long result) { return result == 0 ? EINTR : errno; }

LOOP(futex_abs) {
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    long result = syscall(SYS_futex, &never_woken, FUTEX_WAIT_BITSET_PRIVATE, 0, &deadline, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    return cbench_woke(futex_error(result), ETIMEDOUT);
}

LOOP(futex_rel) {
    struct timespec time = left(deadline_ns);
    long result = syscall(SYS_futex, &never_woken, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
    return cbench_woke(futex_error(result), ETIMEDOUT);
}

LOOP(sigtimedwait) {
    sigset_t none;
    sigemptyset(&none);
    struct timespec time = left(deadline_ns);
    return cbench_woke(error_of(sigtimedwait(&none, NULL, &time)), EAGAIN);
}

// The poll family, with nothing to poll. Its timeouts end late by up to 0.1 % in addition to the
// thread's slack (fs/select.c, select_estimate_accuracy).

LOOP(poll) { return cbench_woke(error_of(poll(NULL, 0, left_ms(deadline_ns))), 0); }

LOOP(ppoll) {
    struct timespec time = left(deadline_ns);
    return cbench_woke(error_of(ppoll(NULL, 0, &time, NULL)), 0);
}

LOOP(select) {
    struct timeval time = cbench_left_us(deadline_ns);
    return cbench_woke(error_of(select(0, NULL, NULL, NULL, &time)), 0);
}

LOOP(pselect) {
    struct timespec time = left(deadline_ns);
    return cbench_woke(error_of(pselect(0, NULL, NULL, NULL, &time, NULL)), 0);
}

// Waits on a file, which is closed afterwards; opening it may have failed.
__attribute__((always_inline)) static inline int fill_and_close(cbench_block *block,
                                                                cbench_wait *wait, int file) {
    if (file < 0) return -errno;
    int status = cbench_fill(block, wait, &file);
    close(file);
    return status;
}

WAIT(wait_in_epoll) {
    struct epoll_event event;
    int result = epoll_wait(*(int *)context, &event, 1, left_ms(deadline_ns));
    return cbench_woke(error_of(result), 0);
}

int cbench_epoll_wait(cbench_block *block) {
    return fill_and_close(block, wait_in_epoll, epoll_create1(EPOLL_CLOEXEC));
}

// Called by number: the C library may be older than the kernel (glibc has the call since 2.35).
WAIT(wait_in_epoll2) {
    struct epoll_event event;
    struct timespec time = left(deadline_ns);
    long result = syscall(SYS_epoll_pwait2, *(int *)context, &event, 1, &time, NULL, 0);
    return cbench_woke(error_of(result), 0);
}

int cbench_epoll_pwait2(cbench_block *block) {
    return fill_and_close(block, wait_in_epoll2, epoll_create1(EPOLL_CLOEXEC));
}

WAIT(receive_bytes) {
    int socket_fd = *(int *)context;
    struct timeval time = cbench_left_us(deadline_ns);
    if (time.tv_sec == 0 && time.tv_usec == 0) time.tv_usec = 1;  // 0 would wait forever, socket(7)
    if (setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) != 0) return -errno;
    char byte;
    return cbench_woke(error_of(recv(socket_fd, &byte, 1, 0)), EAGAIN);
}

int cbench_so_rcvtimeo(cbench_block *block) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) return -errno;
    int status = fill_and_close(block, receive_bytes, pair[0]);
    close(pair[1]);
    return status;
}

// Called by number: older C libraries have these functions in a separate library. The kernel's
// names have no slash.
WAIT(receive_message) {
    struct timespec deadline = wall_deadline(deadline_ns);
    char message[8];
    long result =
        syscall(SYS_mq_timedreceive, *(int *)context, message, sizeof message, NULL, &deadline);
    return cbench_woke(error_of(result), ETIMEDOUT);
}

int cbench_mq_timedreceive(cbench_block *block) {
    char name[64];
    snprintf(name, sizeof name, "bench-%d-%d", getpid(), gettid());
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    int queue =
        (int)syscall(SYS_mq_open, name, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    if (queue >= 0) syscall(SYS_mq_unlink, name);
    return fill_and_close(block, receive_message, queue);
}

WAIT(take_semaphore_of_set) {
    struct sembuf take = {.sem_num = 0, .sem_op = -1, .sem_flg = 0};
    struct timespec time = left(deadline_ns);
    return cbench_woke(error_of(semtimedop(*(int *)context, &take, 1, &time)), EAGAIN);
}

int cbench_semtimedop(cbench_block *block) {
    int set = semget(IPC_PRIVATE, 1, 0600);
    if (set < 0) return -errno;
    int status = cbench_fill(block, take_semaphore_of_set, &set);
    semctl(set, 0, IPC_RMID);
    return status;
}

// Semaphores and conditions of the C library, by each of its clocks.

WAIT(take_by_monotonic_clock) {
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    return cbench_woke(error_of(sem_clockwait(context, CLOCK_MONOTONIC, &deadline)), ETIMEDOUT);
}

WAIT(take_by_wall_clock) {
    struct timespec deadline = wall_deadline(deadline_ns);
    return cbench_woke(error_of(sem_timedwait(context, &deadline)), ETIMEDOUT);
}

__attribute__((always_inline)) static inline int with_semaphore(cbench_block *block,
                                                                cbench_wait *wait) {
    sem_t semaphore;
    if (sem_init(&semaphore, 0, 0) != 0) return -errno;
    int status = cbench_fill(block, wait, &semaphore);
    sem_destroy(&semaphore);
    return status;
}

int cbench_sem_clockwait(cbench_block *block) {
    return with_semaphore(block, take_by_monotonic_clock);
}

int cbench_sem_timedwait(cbench_block *block) { return with_semaphore(block, take_by_wall_clock); }

struct condition {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

// An `error` of 0 is a spurious wakeup (pthread_cond_wait(3)).
static int condition_error(int error) { return error == 0 ? EINTR : error; }

WAIT(wait_by_monotonic_clock) {
    struct condition *condition = context;
    struct timespec deadline = hrt_timespec_from_ns(deadline_ns);
    int error =
        pthread_cond_clockwait(&condition->changed, &condition->mutex, CLOCK_MONOTONIC, &deadline);
    return cbench_woke(condition_error(error), ETIMEDOUT);
}

WAIT(wait_by_wall_clock) {
    struct condition *condition = context;
    struct timespec deadline = wall_deadline(deadline_ns);
    int error = pthread_cond_timedwait(&condition->changed, &condition->mutex, &deadline);
    return cbench_woke(condition_error(error), ETIMEDOUT);
}

__attribute__((always_inline)) static inline int with_condition(cbench_block *block,
                                                                cbench_wait *wait) {
    struct condition condition = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&condition.mutex);
    int status = cbench_fill(block, wait, &condition);
    pthread_mutex_unlock(&condition.mutex);
    pthread_cond_destroy(&condition.changed);
    pthread_mutex_destroy(&condition.mutex);
    return status;
}

int cbench_cond_clockwait(cbench_block *block) {
    return with_condition(block, wait_by_monotonic_clock);
}

int cbench_cond_timedwait(cbench_block *block) { return with_condition(block, wait_by_wall_clock); }

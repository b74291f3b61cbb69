// Calls that take a duration, not a deadline. The remaining time is computed right before each
// call.
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cbench_waits.h"
#include "kernel_wait.h"

static int64_t rounded_up_us(int64_t time_ns) { return (time_ns + 999) / 1000; }

static int sleep_on_clock(void *context, int64_t remaining_ns) {
    (void)context;
    struct timespec remaining = hrt_timespec_from_ns(remaining_ns);
    return -clock_nanosleep(CLOCK_MONOTONIC, 0, &remaining, NULL);
}

int cbench_clock_nanosleep_rel(cbench_block *block) {
    return cbench_fill_relative(block, sleep_on_clock, NULL);
}

static int sleep_plainly(void *context, int64_t remaining_ns) {
    (void)context;
    struct timespec remaining = hrt_timespec_from_ns(remaining_ns);
    return nanosleep(&remaining, NULL) == 0 ? 0 : -errno;
}

int cbench_nanosleep(cbench_block *block) {
    return cbench_fill_relative(block, sleep_plainly, NULL);
}

static int wait_in_futex(void *context, int64_t remaining_ns) {
    struct timespec remaining = hrt_timespec_from_ns(remaining_ns);
    long status = syscall(SYS_futex, context, FUTEX_WAIT_PRIVATE, 0, &remaining, NULL, 0);
    // A spurious wakeup, which futex(2) allows.
    if (status == 0) return -EINTR;
    return errno == ETIMEDOUT ? 0 : -errno;
}

int cbench_futex_rel(cbench_block *block) {
    uint32_t never_woken = 0;
    return cbench_fill_relative(block, wait_in_futex, &never_woken);
}

static int wait_for_no_signal(void *context, int64_t remaining_ns) {
    struct timespec remaining = hrt_timespec_from_ns(remaining_ns);
    return sigtimedwait(context, NULL, &remaining) < 0 && errno != EAGAIN ? -errno : 0;
}

int cbench_sigtimedwait(cbench_block *block) {
    sigset_t none;
    sigemptyset(&none);
    return cbench_fill_relative(block, wait_for_no_signal, &none);
}

static int wait_for_semaphore(void *context, int64_t remaining_ns) {
    struct sembuf take = {.sem_num = 0, .sem_op = -1, .sem_flg = 0};
    struct timespec remaining = hrt_timespec_from_ns(remaining_ns);
    return semtimedop(*(int *)context, &take, 1, &remaining) < 0 && errno != EAGAIN ? -errno : 0;
}

int cbench_semtimedop(cbench_block *block) {
    int set = semget(IPC_PRIVATE, 1, 0600);
    if (set < 0) return -errno;
    int status = cbench_fill_relative(block, wait_for_semaphore, &set);
    semctl(set, 0, IPC_RMID);
    return status;
}

static int wait_for_bytes(void *context, int64_t remaining_ns) {
    int socket_fd = *(int *)context;
    // A timeout of 0 would mean to wait forever (socket(7)).
    int64_t remaining_us = remaining_ns > 1000 ? rounded_up_us(remaining_ns) : 1;
    struct timeval timeout = {.tv_sec = remaining_us / 1000000, .tv_usec = remaining_us % 1000000};
    if (setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0) {
        return -errno;
    }
    char byte;
    return recv(socket_fd, &byte, 1, 0) < 0 && errno != EAGAIN ? -errno : 0;
}

int cbench_so_rcvtimeo(cbench_block *block) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0) return -errno;
    int status = cbench_fill_relative(block, wait_for_bytes, &pair[0]);
    close(pair[0]);
    close(pair[1]);
    return status;
}

// The poll family, with nothing to poll.

static int poll_in_ms(void *context, int64_t remaining_ns) {
    (void)context;
    // Rounded up: rounding down would wake early and spin through the last millisecond.
    return poll(NULL, 0, (int)((remaining_ns + 999999) / 1000000)) < 0 ? -errno : 0;
}

int cbench_poll(cbench_block *block) { return cbench_fill_relative(block, poll_in_ms, NULL); }

static int poll_in_ns(void *context, int64_t remaining_ns) {
    (void)context;
    struct timespec remaining = hrt_timespec_from_ns(remaining_ns);
    return ppoll(NULL, 0, &remaining, NULL) < 0 ? -errno : 0;
}

int cbench_ppoll(cbench_block *block) { return cbench_fill_relative(block, poll_in_ns, NULL); }

static int select_in_us(void *context, int64_t remaining_ns) {
    (void)context;
    int64_t remaining_us = rounded_up_us(remaining_ns);
    struct timeval timeout = {.tv_sec = remaining_us / 1000000, .tv_usec = remaining_us % 1000000};
    return select(0, NULL, NULL, NULL, &timeout) < 0 ? -errno : 0;
}

int cbench_select(cbench_block *block) { return cbench_fill_relative(block, select_in_us, NULL); }

static int select_in_ns(void *context, int64_t remaining_ns) {
    (void)context;
    struct timespec remaining = hrt_timespec_from_ns(remaining_ns);
    return pselect(0, NULL, NULL, NULL, &remaining, NULL) < 0 ? -errno : 0;
}

int cbench_pselect(cbench_block *block) { return cbench_fill_relative(block, select_in_ns, NULL); }

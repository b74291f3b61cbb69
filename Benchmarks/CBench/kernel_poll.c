#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cbench_kernel.h"

#ifndef SYS_epoll_pwait2
// The same number on every architecture, as for all system calls since 424.
#define SYS_epoll_pwait2 441
#endif

// Timeouts of the poll family are relative, and end late by up to 0.1 % in addition to the thread's
// slack (fs/select.c, select_estimate_accuracy). All waits are on an empty set.
typedef int wait_for_timeout(int epoll_fd, int64_t remaining_ns);

static int wait_in_ms(int epoll_fd, int64_t remaining_ns) {
    struct epoll_event event;
    // Rounded up: rounding down would wake early and spin through the last millisecond.
    int64_t timeout_ms = (remaining_ns + 999999) / 1000000;
    return epoll_wait(epoll_fd, &event, 1, (int)timeout_ms);
}

// Called by number: the C library may be older than the kernel (glibc has the call since 2.35).
static int wait_in_ns(int epoll_fd, int64_t remaining_ns) {
    struct epoll_event event;
    struct timespec timeout = hrt_timespec_from_ns(remaining_ns);
    return (int)syscall(SYS_epoll_pwait2, epoll_fd, &event, 1, &timeout, NULL, 0);
}

static int fill(cbench_block *block, wait_for_timeout *wait) {
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) return -errno;
    int64_t woke_ns;
    int status;
    do {
        do {
            int64_t remaining_ns = block->next_deadline_ns - cbench_now_ns();
            status = wait(epoll_fd, remaining_ns > 0 ? remaining_ns : 0) < 0 ? -errno : 0;
            woke_ns = cbench_now_ns();
        } while (status == -EINTR);
    } while (status == 0 && cbench_block_fire(block, woke_ns));
    close(epoll_fd);
    return status;
}

int cbench_epoll_wait(cbench_block *block) {
    return fill(block, wait_in_ms);
}

int cbench_epoll_pwait2(cbench_block *block) {
    return fill(block, wait_in_ns);
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>

#include "CTestSupport.h"

enum { MOST = 4, NONE = -1 };

// Not every architecture has all of these system calls.
#ifndef SYS_epoll_create
#define SYS_epoll_create NONE
#endif
#ifndef SYS_epoll_wait
#define SYS_epoll_wait NONE
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 NONE
#endif
#ifndef SYS_eventfd
#define SYS_eventfd NONE
#endif
#ifndef SYS_pipe
#define SYS_pipe NONE
#endif
#ifndef SYS_poll
#define SYS_poll NONE
#endif

static const struct {
    const char *name;
    int numbers[MOST];
} calls[] = {
    {"epoll_create1", {SYS_epoll_create1, SYS_epoll_create, NONE, NONE}},
    {"epoll_ctl", {SYS_epoll_ctl, NONE, NONE, NONE}},
    {"epoll_wait", {SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, NONE}},
    {"eventfd2", {SYS_eventfd2, SYS_eventfd, NONE, NONE}},
    {"futex", {SYS_futex, NONE, NONE, NONE}},
    {"pipe2", {SYS_pipe2, SYS_pipe, SYS_socketpair, NONE}},
    {"poll", {SYS_poll, SYS_ppoll, NONE, NONE}},
    {"sched_getattr", {SYS_sched_getattr, NONE, NONE, NONE}},
    {"sched_setattr", {SYS_sched_setattr, NONE, NONE, NONE}},
    {"timerfd_create", {SYS_timerfd_create, NONE, NONE, NONE}},
    {"timerfd_settime", {SYS_timerfd_settime, NONE, NONE, NONE}},
};

// Installs a filter that refuses the system calls with these numbers.
static int filter(const int numbers[MOST], int error) {
    struct sock_filter code[2 + 2 * MOST];
    unsigned short length = 0;
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                  __builtin_offsetof(struct seccomp_data, nr));
    for (int index = 0; index < MOST; index++) {
        if (numbers[index] == NONE) continue;
        code[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[index], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(
            BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA));
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = length, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : -errno;
}

int ctest_refuse(const char *name, int32_t error) {
    for (size_t index = 0; index < sizeof calls / sizeof calls[0]; index++) {
        if (strcmp(calls[index].name, name) == 0) return filter(calls[index].numbers, error);
    }
    return -EINVAL;
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CTestSupport.h"

enum { MOST = 80 };

// The system calls that Docker's default profile refuses to a container without further rights
// (moby/profiles/seccomp).
static const long by_docker[] = {
    SYS_acct,           SYS_add_key,         SYS_bpf,
    SYS_clock_adjtime,  SYS_clock_settime,   SYS_delete_module,
    SYS_finit_module,   SYS_init_module,     SYS_kcmp,
    SYS_kexec_load,     SYS_keyctl,          SYS_lookup_dcookie,
    SYS_mbind,          SYS_mount,           SYS_move_pages,
    SYS_nfsservctl,     SYS_perf_event_open, SYS_personality,
    SYS_pivot_root,     SYS_quotactl,        SYS_reboot,
    SYS_request_key,    SYS_set_mempolicy,   SYS_setns,
    SYS_settimeofday,   SYS_swapoff,         SYS_swapon,
    SYS_umount2,        SYS_unshare,         SYS_userfaultfd,
    SYS_io_uring_setup, SYS_io_uring_enter,  SYS_io_uring_register,
};

// The system calls that an emulated kernel may lack, and that a running program can do without. Not
// rseq(2): glibc ends a process that had it for one thread and lacks it for the next.
static const long lacking[] = {
    SYS_clone3,       SYS_membarrier,    SYS_statx,         SYS_pidfd_open,  SYS_mlockall,
    SYS_munlockall,   SYS_sched_setattr, SYS_sched_getattr, SYS_openat2,     SYS_io_uring_setup,
    SYS_memfd_create, SYS_close_range,   SYS_faccessat2,    SYS_setpriority, SYS_sched_setaffinity,
};

// Installs the filter for all threads of the process.
static int install(struct sock_filter *code, unsigned short length) {
    struct sock_fprog program = {.len = length, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
    long status =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    return status == 0 ? 0 : -errno;
}

static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

static int refuse(const long *numbers, size_t count, int error) {
    struct sock_filter code[2 + 2 * MOST];
    unsigned short length = 0;
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                  __builtin_offsetof(struct seccomp_data, nr));
    for (size_t index = 0; index < count; index++) {
        code[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[index], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(
            BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA));
    }
    code[length++] = allow;
    return install(code, length);
}

// Refuses an ioctl(2) that only Linux itself knows: TFD_IOC_SET_TICKS, see timerfd_create(2).
static int refuse_set_ticks(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, __builtin_offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, __builtin_offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, _IOW('T', 0, uint64_t), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
        allow,
    };
    return install(code, sizeof code / sizeof *code);
}

int ctest_refuse_as_docker(void) {
    return refuse(by_docker, sizeof by_docker / sizeof *by_docker, EPERM);
}

int ctest_lack_calls(void) {
    int status = refuse(lacking, sizeof lacking / sizeof *lacking, ENOSYS);
    return status == 0 ? refuse_set_ticks() : status;
}

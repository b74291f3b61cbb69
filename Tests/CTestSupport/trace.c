// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CTestSupport.h"

struct ctest_trace {
    pid_t tracer;
    _Atomic int may_attach;
    _Atomic int status;  // 1 until the tracer has attached: then 0, or a negative errno
    _Atomic uint32_t counts[CTEST_SYSCALLS];
};

// Runs in a forked child of a process with threads: may call only async-signal-safe functions.
static void trace_thread(ctest_trace *trace, pid_t tid) {
    while (!atomic_load(&trace->may_attach)) usleep(100);
    int status;
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0 ||
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || waitpid(tid, &status, __WALL) != tid) {
        atomic_store(&trace->status, -errno);
        return;
    }
    atomic_store(&trace->status, 0);
    long signal = 0;
    while (ptrace(PTRACE_SYSCALL, tid, NULL, (void *)signal) == 0 &&
           waitpid(tid, &status, __WALL) == tid) {
        signal = 0;
        if (!WIFSTOPPED(status)) return;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            // Passes a signal on. A stop with an event above the signal is ptrace's own, and no
            // signal.
            if (status >> 16 == 0) signal = WSTOPSIG(status);
            continue;
        }
        struct __ptrace_syscall_info info = {0};
        if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof info, &info) <= 0) continue;
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr < CTEST_SYSCALLS) {
            atomic_fetch_add(&trace->counts[info.entry.nr], 1);
        }
    }
}

int ctest_trace_begin(int32_t tid, ctest_trace **out_trace) {
    ctest_trace *trace =
        mmap(NULL, sizeof *trace, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trace == MAP_FAILED) return -ENOMEM;
    atomic_store(&trace->status, 1);
    // Not assigned to trace->tracer at once: the child shares that memory, and would write 0
    // there.
    pid_t tracer = fork();
    if (tracer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        trace_thread(trace, tid);
        _exit(0);
    }
    if (tracer < 0) {
        int error = errno;
        munmap(trace, sizeof *trace);
        return -error;
    }
    trace->tracer = tracer;
    // Yama allows only ancestors to trace, unless the traced process names its tracer
    // (Documentation/admin-guide/LSM/Yama.rst).
    prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
    atomic_store(&trace->may_attach, 1);
    int status;
    while ((status = atomic_load(&trace->status)) == 1) usleep(100);
    if (status != 0) {
        ctest_trace_end(trace);
        return status;
    }
    *out_trace = trace;
    return 0;
}

void ctest_trace_counts(const ctest_trace *trace, uint32_t counts[CTEST_SYSCALLS]) {
    for (int number = 0; number < CTEST_SYSCALLS; number++)
        counts[number] = atomic_load(&trace->counts[number]);
}

void ctest_trace_end(ctest_trace *trace) {
    // The kernel detaches the traced thread when its tracer ends.
    kill(trace->tracer, SIGKILL);
    waitpid(trace->tracer, NULL, 0);
    munmap(trace, sizeof *trace);
}

// SPDX-License-Identifier: Apache-2.0
// Load for the machine, in separate processes, so that their processor time does not count as the
// bench's.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cbench_load.h"

// The child makes only async-signal-safe calls: the parent has other threads (fork(2)).
static bool ends_with(pid_t parent) {
    signal(SIGINT, SIG_DFL);
    // The child is killed when the thread that started it ends, in whatever way. Returns false if
    // the parent is gone already.
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

// If a step fails, writes the errno to the pipe and ends; a successful exec closes the pipe.
static _Noreturn void execute(const char *const *arguments, pid_t parent, int report_fd) {
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    if (ends_with(parent) && setpgid(0, 0) == 0 && null_fd >= 0 && dup2(null_fd, 0) == 0 &&
        dup2(null_fd, 1) == 1 && sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
        execv(arguments[0], (char *const *)arguments);
    }
    int error = errno;
    ssize_t ignored = write(report_fd, &error, sizeof error);
    (void)ignored;
    _exit(1);
}

int cbench_load_execute(const char *const *arguments, int32_t *out_process) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return -errno;
    pid_t parent = getpid();
    pid_t child = fork();
    int error = child < 0 ? errno : 0;
    if (child == 0) execute(arguments, parent, report[1]);
    close(report[1]);
    if (child > 0) {
        ssize_t size;
        do {
            size = read(report[0], &error, sizeof error);
        } while (size < 0 && errno == EINTR);
        if (size == (ssize_t)sizeof error) cbench_load_stop(child);
        if (size == 0) error = 0;
    }
    close(report[0]);
    *out_process = child;
    return -error;
}

void cbench_load_stop(int32_t process) {
    if (getpgid(process) == process) kill(-process, SIGKILL);
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) continue;
}

int cbench_load_has_ended(int32_t process, int *out_status) {
    return waitpid(process, out_status, WNOHANG) == process;
}

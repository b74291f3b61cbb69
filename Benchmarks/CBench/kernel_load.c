// Load for the machine, in processes of its own, so that their processor time is not counted as the
// bench's.
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cbench_kernel.h"

// Only async-signal-safe calls: the parent has other threads (fork(2)).
static _Noreturn void hog(pid_t parent) {
    signal(SIGINT, SIG_DFL);
    // Ends with the thread that started it, however that ends; unless it is gone already.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
    for (;;) __asm__ volatile("");
}

int cbench_load_start(int32_t *out_process) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0) return -errno;
    if (child == 0) hog(parent);
    *out_process = child;
    return 0;
}

void cbench_load_stop(int32_t process) {
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) continue;
}

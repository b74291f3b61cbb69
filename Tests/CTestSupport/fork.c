// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "CTestSupport.h"

// Reads until the child has closed its end. Returns false if the child writes nothing for too long.
static bool read_all(int fd, char *text, size_t size, int32_t timeout_ms) {
    size_t length = 0;
    for (;;) {
        text[length] = '\0';
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        // The timeout starts again with each write of the child.
        int count = poll(&readable, 1, timeout_ms);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        ssize_t got = read(fd, text + length, size - 1 - length);
        if (got <= 0) return true;
        length += (size_t)got;
    }
}

// Prints where a child hangs: gdb's backtrace if gdb is installed, else the child's system call.
static void say_where(pid_t child) {
    char command[200];
    snprintf(command, sizeof command,
             "gdb -p %d -batch -ex bt 2>/dev/null >&2 || "
             "grep -H . /proc/%d/wchan /proc/%d/syscall >&2",
             child, child, child);
    (void)!system(command);
}

int ctest_in_child(void (*body)(void *context, int fd), void *context, int32_t timeout_ms,
                   char *text, size_t size) {
    int ends[2];
    if (pipe(ends) != 0) return -errno;
    pid_t child = fork();
    if (child < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return -error;
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body(context, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    bool is_over = read_all(ends[0], text, size, timeout_ms);
    close(ends[0]);
    if (!is_over) {
        say_where(child);
        kill(child, SIGKILL);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (!is_over) return -ETIMEDOUT;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

void ctest_say(int fd, const char *word) {
    size_t length = 0;
    while (word[length] != '\0') length++;
    // A pipe takes this little at once. If it does not, its reader is gone, and so is the test.
    if (write(fd, word, length) < 0 || write(fd, "\n", 1) < 0) _exit(1);
}

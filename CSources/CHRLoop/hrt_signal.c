// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// Signals as counts in an eventfd. The handler may run on any thread of the process.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../CHRTimer/hrt_status.h"
#include "../CHRTimer/include/hrt_lock.h"
#include "include/hrt_signal.h"

enum { SIGNALS = 65, CLOSED = 0, OPENING = -1 };

// CLOSED, OPENING, or the descriptor plus one.
static _Atomic int signal_fds[SIGNALS];
static struct sigaction former_actions[SIGNALS];
// Held while an action is changed, and while the process is stopped.
static hrt_lock actions;
// The number of handlers that run now and may use a descriptor: none is closed before they have
// returned.
static _Atomic int signal_handlers;

static void on_signal(int signal) {
    int kept = hrt_kept_errno();
    atomic_fetch_add(&signal_handlers, 1);
    int fd = atomic_load(&signal_fds[signal]) - 1;
    uint64_t one = 1;
    // Can fail only when 2^64 - 2 signals wait to be taken.
    if (fd >= 0) (void)HRT_CALL(write(fd, &one, sizeof one));
    atomic_fetch_sub(&signal_handlers, 1);
    hrt_restore_errno(kept);
}

bool hrt_signal_is_blocked(int signal) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return sigismember(&mask, signal) == 1;
}

int hrt_signal_open(int signal, int *out_fd) {
    if (signal <= 0 || signal >= SIGNALS) return -EINVAL;
    int closed = CLOSED;
    if (!atomic_compare_exchange_strong(&signal_fds[signal], &closed, OPENING)) return -EBUSY;
    int fd = (int)HRT_CALL(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (fd < 0) {
        atomic_store(&signal_fds[signal], CLOSED);
        return fd;
    }
    atomic_store(&signal_fds[signal], fd + 1);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    hrt_lock_acquire(&actions);
    int status = HRT_STATUS(sigaction(signal, &action, &former_actions[signal]));
    hrt_lock_release(&actions);
    if (status != 0) {
        atomic_store(&signal_fds[signal], CLOSED);
        close(fd);
        return status;
    }
    *out_fd = fd;
    return 0;
}

uint64_t hrt_signal_take(int signal) {
    uint64_t count = 0;
    int fd = atomic_load(&signal_fds[signal]) - 1;
    if (fd < 0) return 0;
    int status = HRT_STATUS(read(fd, &count, sizeof count));
    if (status != -EAGAIN) hrt_must("read of eventfd", status);
    return count;
}

// With a handler, any thread could count the SIGCONT that ends the stop, at any time after it.
// Without one the kernel drops it (kernel/signal.c): when it is sent (sig_ignored), or, if it is
// pending because the first thread blocks it, when a thread takes it off the queue (get_signal).
void hrt_signal_stop_process(void) {
    struct sigaction none = {.sa_handler = SIG_DFL}, action;
    sigemptyset(&none.sa_mask);
    hrt_lock_acquire(&actions);
    sigaction(SIGCONT, &none, &action);
    // Sent to this thread itself, which is stopped before the call returns, signal(7).
    raise(SIGSTOP);
    // Drops a pending SIGCONT: sigaction(3p), "setting a signal action to SIG_DFL".
    sigaction(SIGCONT, &none, NULL);
    sigaction(SIGCONT, &action, NULL);
    hrt_lock_release(&actions);
}

void hrt_signal_close(int signal) {
    int fd = atomic_load(&signal_fds[signal]) - 1;
    if (fd < 0) return;
    hrt_lock_acquire(&actions);
    sigaction(signal, &former_actions[signal], NULL);
    hrt_lock_release(&actions);
    atomic_store(&signal_fds[signal], OPENING);
    while (atomic_load(&signal_handlers) != 0) sched_yield();
    close(fd);
    atomic_store(&signal_fds[signal], CLOSED);
}
#endif

#ifdef __linux__
// Signals as counts in an eventfd. The handler may run on any thread of the process.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../hrt_status.h"
#include "../include/hrt_latch.h"
#include "../include/hrt_lock.h"
#include "../include/hrt_signal.h"
#include "../include/hrt_thread.h"

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

// Threads that each receive one signal, for a process whose threads may all block it: a thread
// inherits the mask of the one that started it (signal(7)), and no thread can change another's
// mask.
static struct {
    bool is_there;
    pthread_t thread;
    hrt_latch end;
} receivers[SIGNALS];

static void *run_receiver(void *end) {
    hrt_thread_set_name("hrt-signal");
    hrt_latch_wait(end);
    return NULL;
}

static int start_receiver(int signal) {
    sigset_t before, others;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    if (sigismember(&before, signal) != 1) return 0;
    sigfillset(&others);
    sigdelset(&others, signal);
    receivers[signal].end = (hrt_latch){0};
    // The new thread inherits the mask. Until the mask is restored the signal may come to this
    // thread, which is harmless: the handler is installed.
    pthread_sigmask(SIG_SETMASK, &others, NULL);
    int error =
        pthread_create(&receivers[signal].thread, NULL, run_receiver, &receivers[signal].end);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    receivers[signal].is_there = error == 0;
    return -error;
}

static void end_receiver(int signal) {
    if (!receivers[signal].is_there) return;
    hrt_latch_open(&receivers[signal].end);
    pthread_join(receivers[signal].thread, NULL);
    receivers[signal].is_there = false;
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
    status = start_receiver(signal);
    if (status != 0) hrt_signal_close(signal);
    return status;
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
    // Done before the former action is restored: for that action the program let no thread receive
    // the signal.
    end_receiver(signal);
    hrt_lock_acquire(&actions);
    sigaction(signal, &former_actions[signal], NULL);
    hrt_lock_release(&actions);
    atomic_store(&signal_fds[signal], OPENING);
    while (atomic_load(&signal_handlers) != 0) sched_yield();
    close(fd);
    atomic_store(&signal_fds[signal], CLOSED);
}
#endif

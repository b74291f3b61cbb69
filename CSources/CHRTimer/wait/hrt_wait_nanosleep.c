#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../hrt_status.h"
#include "hrt_wait_parts.h"

// What the thread sleeps until, where the handler can reach it. A signal that comes before the
// system call is entered finds the instant the call is about to read, and makes it the past: no
// wake is lost between looking and sleeping.
static _Thread_local struct timespec *volatile sleeping_until;

static int wake_signal(void) { return SIGRTMAX - 1; }

static void make_it_past(int signal) {
    (void)signal;
    struct timespec *until = sleeping_until;
    if (until != NULL) *until = (struct timespec){0};
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIGNALS_ARE_KEPT_BACK 1
#endif
#endif

// What a wait and a wake are made of: a sleep that is over, and a signal that is none.
static int probe(hrt_wait *wait) {
    struct timespec past = {0};
    int error = clock_nanosleep((clockid_t)wait->clock, TIMER_ABSTIME, &past, NULL);
    if (error != 0 && error != EINTR) return -error;
    return syscall(SYS_tgkill, getpid(), gettid(), 0) == 0 ? 0 : -errno;
}

int hrt_wait_nanosleep_open(hrt_wait *wait) {
#ifdef SIGNALS_ARE_KEPT_BACK
    // Thread Sanitizer calls handlers not when the signal comes but at the next function it
    // intercepts: wakes would be lost.
    return -ENOTSUP;
#endif
    atomic_store(&wait->nanosleep.sleeper, 0);
    int status = probe(wait);
    if (status != 0) return status;
    struct sigaction action;
    if (sigaction(wake_signal(), NULL, &action) != 0) return -errno;
    if (action.sa_handler == make_it_past) return 0;
    if (action.sa_handler != SIG_DFL) return -EBUSY;
    action = (struct sigaction){.sa_handler = make_it_past};
    sigemptyset(&action.sa_mask);
    return sigaction(wake_signal(), &action, NULL) == 0 ? 0 : -errno;
}

// Once for each thread that waits.
static void let_signal_in(hrt_wait *wait) {
    pid_t self = gettid();
    if (wait->nanosleep.waiter == self) return;
    wait->nanosleep.waiter = self;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, wake_signal());
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int hrt_wait_nanosleep_until(hrt_wait *wait, int64_t deadline_ns) {
    let_signal_in(wait);
    for (;;) {
        struct timespec until = hrt_timespec_from_ns(deadline_ns);
        sleeping_until = &until;
        atomic_store(&wait->nanosleep.sleeper, wait->nanosleep.waiter);
        int error = 0;
        if (!atomic_load(&wait->woken))
            error = clock_nanosleep((clockid_t)wait->clock, TIMER_ABSTIME, &until, NULL);
        atomic_store(&wait->nanosleep.sleeper, 0);
        sleeping_until = NULL;
        if (error != 0 && error != EINTR) hrt_impossible("clock_nanosleep", error);
        if (hrt_wait_consume_wake(wait) == HRT_WAIT_WOKEN) return HRT_WAIT_WOKEN;
        // A signal of an earlier wake, or any other, ended the sleep.
        if (hrt_clock_now_ns(wait->clock) >= deadline_ns) return HRT_WAIT_TIMED_OUT;
    }
}

void hrt_wait_nanosleep_wake(hrt_wait *wait) {
    // If nobody is there: the thread looks at `woken` after it has said that it sleeps.
    pid_t sleeper = atomic_load(&wait->nanosleep.sleeper);
    // By the kernel's id, which is harmless where the thread has ended meanwhile: ESRCH.
    if (sleeper != 0) syscall(SYS_tgkill, getpid(), sleeper, wake_signal());
}

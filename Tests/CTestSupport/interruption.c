// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "CTestSupport.h"

static timer_t timer;
static int64_t length_ns;
static _Atomic int64_t begun_ns, ended_ns;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void on_signal(int signal) {
    (void)signal;
    int error = errno;
    atomic_store(&begun_ns, now_ns());
    struct timespec length = {.tv_nsec = length_ns};
    nanosleep(&length, NULL);
    atomic_store(&ended_ns, now_ns());
    errno = error;
}

int ctest_interrupt_once(int64_t after_ns, int64_t for_ns) {
    length_ns = for_ns;
    atomic_store(&begun_ns, 0);
    atomic_store(&ended_ns, 0);
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGVTALRM, &action, NULL) != 0) return -errno;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGVTALRM};
    event._sigev_un._tid = gettid();  // glibc 2.36 has no sigev_notify_thread_id
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return -errno;
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGVTALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    struct itimerspec spec = {.it_value.tv_nsec = after_ns};
    return timer_settime(timer, 0, &spec, NULL) == 0 ? 0 : -errno;
}

void ctest_interruption_end(int64_t *out_begun_ns, int64_t *out_ended_ns) {
    timer_delete(timer);
    *out_begun_ns = atomic_load(&begun_ns);
    *out_ended_ns = atomic_load(&ended_ns);
}

// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "CTestSupport.h"

static _Atomic uint64_t signals;

static void on_alarm(int signal) {
    (void)signal;
    atomic_fetch_add(&signals, 1);
}

int ctest_storm_begin(int64_t interval_us, ctest_storm *out_storm) {
    struct sigaction action = {.sa_handler = on_alarm};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGALRM, &action, NULL) != 0) return -errno;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event._sigev_un._tid = gettid();  // glibc 2.36 has no sigev_notify_thread_id
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return -errno;
    memcpy(out_storm, &timer, sizeof timer);
    struct timespec interval = {.tv_nsec = interval_us * 1000};
    struct itimerspec spec = {.it_interval = interval, .it_value = interval};
    if (timer_settime(timer, 0, &spec, NULL) != 0) return -errno;
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    return -pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
}

uint64_t ctest_storm_end(ctest_storm storm) {
    timer_t timer;
    memcpy(&timer, &storm, sizeof timer);
    timer_delete(timer);
    return atomic_exchange(&signals, 0);
}

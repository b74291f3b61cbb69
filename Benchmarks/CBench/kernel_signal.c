// SPDX-License-Identifier: Apache-2.0
// Timers that send signals: timer_create(2) in its three forms, and setitimer(2).
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel_wait.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CBENCH_THREAD_SANITIZED 1
#endif
#endif

struct shared_block {
    int status;
    cbench_block block;
    cbench_fire fires[];
};

static _Noreturn void fill_as_child(struct shared_block *shared, cbench_loop *loop, pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
    shared->status = loop(&shared->block);
    _exit(0);
}

// Fills the block in a child process, which writes to memory shared with the parent. The child has
// one thread, and makes only calls that a child of a process with several threads may make
// (signal-safety(7)). Its deadlines are those of the parent.
static int fill_in_child(cbench_block *block, cbench_loop *loop) {
    size_t bytes = sizeof(struct shared_block) + block->capacity * sizeof block->fires[0];
    struct shared_block *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return -errno;
    memset(shared, 0, bytes);  // mapped in now, not by a fire
    shared->status = -ECHILD;  // unless the child says otherwise
    shared->block = *block;
    shared->block.fires = shared->fires;
    shared->block.counters = cbench_no_counters();
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) fill_as_child(shared, loop, parent);
    int status = child < 0 ? -errno : 0;
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    if (status == 0) {
        status = shared->status;
        cbench_fire *fires = block->fires;
        memcpy(fires, shared->fires, shared->block.count * sizeof fires[0]);
        *block = shared->block;
        block->fires = fires;
        block->counters = cbench_no_counters();
    }
    munmap(shared, bytes);
    return status;
}

// Blocks a signal that has no other user in the calling thread, which then waits for it.
static sigset_t blocked(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return set;
}

static int set_absolutely(timer_t timer, int64_t deadline_ns) {
    struct itimerspec spec = {.it_value = hrt_timespec_from_ns(deadline_ns)};
    return timer_settime(timer, TIMER_ABSTIME, &spec, NULL) == 0 ? 0 : -errno;
}

struct signal_timer {
    timer_t timer;
    sigset_t set;
};

static inline int64_t wait_for_signal(void *context, int64_t deadline_ns) {
    struct signal_timer *timer = context;
    int status = set_absolutely(timer->timer, deadline_ns);
    return status == 0 ? cbench_woke(sigwaitinfo(&timer->set, NULL) < 0 ? errno : 0, 0) : status;
}

static int fill_by_signals(cbench_block *block, struct sigevent *event) {
    struct signal_timer timer = {.set = blocked(event->sigev_signo)};
    if (timer_create(CLOCK_MONOTONIC, event, &timer.timer) != 0) return -errno;
    int status = cbench_fill(block, wait_for_signal, &timer);
    timer_delete(timer.timer);
    return status;
}

static int fill_by_signals_to_process(cbench_block *block) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMAX - 1};
    return fill_by_signals(block, &event);
}

int cbench_timer_create_signal(cbench_block *block) {
    return fill_in_child(block, fill_by_signals_to_process);
}

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

int cbench_timer_create_thread_id(cbench_block *block) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 1};
    event.sigev_notify_thread_id = gettid();
    return fill_by_signals(block, &event);
}

static inline int64_t wait_for_alarm(void *set, int64_t deadline_ns) {
    struct itimerval spec = {.it_value = cbench_left_us(deadline_ns)};
    if (spec.it_value.tv_sec == 0 && spec.it_value.tv_usec == 0) {
        spec.it_value.tv_usec = 1;  // 0 would disarm it
    }
    if (setitimer(ITIMER_REAL, &spec, NULL) != 0) return -errno;
    return cbench_woke(sigwaitinfo(set, NULL) < 0 ? errno : 0, 0);
}

static int fill_by_alarms(cbench_block *block) {
    sigset_t set = blocked(SIGALRM);
    return cbench_fill(block, wait_for_alarm, &set);
}

int cbench_setitimer(cbench_block *block) { return fill_in_child(block, fill_by_alarms); }

#ifdef CBENCH_THREAD_SANITIZED

// The C library starts the threads itself: Thread Sanitizer does not know of them, and crashes.
int cbench_timer_create_thread(cbench_block *block) {
    (void)block;
    return -ENOTSUP;
}

#else

struct threaded_timer {
    cbench_block *block;
    timer_t timer;
    int status;
    sem_t is_full;
};

// Runs on a new thread of the C library for each expiry.
static void expired(union sigval value) {
    int64_t woke_ns = cbench_now_ns();
    struct threaded_timer *timer = value.sival_ptr;
    bool has_more = cbench_block_fire(timer->block, woke_ns);
    if (has_more) timer->status = set_absolutely(timer->timer, timer->block->next_deadline_ns);
    if (!has_more || timer->status != 0) sem_post(&timer->is_full);
}

int cbench_timer_create_thread(cbench_block *block) {
    struct threaded_timer timer = {.block = block};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_ptr = &timer};
    event.sigev_notify_function = expired;
    if (sem_init(&timer.is_full, 0, 0) != 0) return -errno;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer.timer) != 0) {
        int error = errno;
        sem_destroy(&timer.is_full);
        return -error;
    }
    int status = set_absolutely(timer.timer, block->next_deadline_ns);
    if (status == 0) {
        while (sem_wait(&timer.is_full) != 0) continue;  // EINTR
        status = timer.status;
    }
    timer_delete(timer.timer);
    sem_destroy(&timer.is_full);
    return status;
}

#endif

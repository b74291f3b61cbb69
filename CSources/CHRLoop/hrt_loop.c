// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "include/hrt_loop.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../CHRTimer/clock/hrt_futex.h"
#include "../CHRTimer/clock/hrt_precise.h"
#include "../CHRTimer/clock/hrt_probe.h"
#include "../CHRTimer/clock/hrt_tick.h"
#include "../CHRTimer/clock/hrt_timerfd.h"
#include "../CHRTimer/hrt_status.h"
#include "../CHRTimer/include/hrt_thread.h"
#include "hrt_poller.h"

// From <linux/timerfd.h>, which conflicts with glibc's <sys/timerfd.h>.
#ifndef TFD_IOC_SET_TICKS
#define TFD_IOC_SET_TICKS _IOW('T', 0, uint64_t)
#endif

struct hrt_loop {
    hrt_poller *poller;
    hrt_interest *timer_interest;
    bool is_hosted;  // on another event_base, which runs on_host
    void (*on_host)(void *context);
    void *host_context;
    hrt_ready *ready;
    size_t ready_count;
    size_t ready_capacity;  // never less than watch_count: the callback must not allocate
    size_t watch_count;
    int64_t armed_ns;
    int64_t tick_ns;  // hrt_clock_tick_ns of the monotonic clock
    int timer_fd;
    bool is_expired;           // timer_fd became readable since it was armed, also for a wake
    bool may_use_futex;        // may sleep in futex(2) while nothing is watched
    _Atomic bool is_in_futex;  // the waiter sleeps on `woken`, or is about to
    _Atomic uint32_t woken;    // 1 while a wake is pending
    int64_t slack_ns;          // timer slack of the thread that runs the loop
};

struct hrt_watch {
    hrt_loop *loop;
    hrt_interest *interest;
    uint64_t tag;
    size_t ready_index;  // its place in loop->ready, if it is there
};

static void on_host(void *context) {
    hrt_loop *loop = context;
    loop->on_host(loop->host_context);
}

static void activate_host(hrt_loop *loop) {
    if (loop->is_hosted && loop->on_host != NULL) hrt_poller_call_host(loop->poller);
}

// The callbacks only record what happened. It is handled after hrt_poller_run has returned, or in
// on_host.
static void on_timer(void *context, uint32_t events) {
    (void)events;
    hrt_loop *loop = context;
    loop->is_expired = true;
    activate_host(loop);
}

static void on_ready(void *context, uint32_t events) {
    struct hrt_watch *watch = context;
    hrt_loop *loop = watch->loop;
    // One entry per watch, so that there is always room, even if a host has not taken the entries
    // yet: an edge comes once and must not be lost.
    size_t index = watch->ready_index;
    if (index < loop->ready_count && loop->ready[index].tag == watch->tag) {
        loop->ready[index].events |= events;
    } else if (loop->ready_count < loop->ready_capacity) {
        watch->ready_index = loop->ready_count;
        loop->ready[loop->ready_count++] = (hrt_ready){.tag = watch->tag, .events = events};
    }
    activate_host(loop);
}

static int open_descriptors(hrt_loop *loop, struct event_base *host_base) {
    loop->timer_fd = (int)HRT_CALL(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (loop->timer_fd < 0) return loop->timer_fd;
    int status = hrt_probe_timer(loop->timer_fd);
    if (status == 0) {
        status = host_base == NULL ? hrt_poller_create(loop->timer_fd, &loop->poller)
                                   : hrt_poller_create_on(host_base, on_host, loop, &loop->poller);
    }
    if (status != 0) return status;
    loop->is_hosted = host_base != NULL;
    // Edge-triggered: each expiry and each wake is a new edge, so that the timerfd is never read. A
    // host's base may have no edge triggering; there each pass of the loop arms the timerfd again,
    // which also makes it unreadable.
    return hrt_poller_add(loop->poller, loop->timer_fd, HRT_READABLE | HRT_EDGE, on_timer, loop,
                          &loop->timer_interest);
}

static int create(struct event_base *host_base, hrt_loop **out_loop) {
    hrt_loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL) return -ENOMEM;
    loop->tick_ns = hrt_clock_tick_ns(HRT_CLOCK_MONOTONIC);
    loop->timer_fd = -1;
    loop->armed_ns = HRT_NEVER;
    int status = open_descriptors(loop, host_base);
    if (status == 0) {
        *out_loop = loop;
    } else {
        hrt_loop_destroy(loop);
    }
    return status;
}

int hrt_loop_create(hrt_loop **out_loop) {
    int status = create(NULL, out_loop);
    if (status == 0) (*out_loop)->may_use_futex = true;
    return status;
}

int hrt_loop_create_on(struct event_base *base, hrt_loop **out_loop) {
    return create(base, out_loop);
}

void hrt_loop_set_host(hrt_loop *loop, void (*on_host)(void *context), void *context) {
    loop->on_host = on_host;
    loop->host_context = context;
}

static void close_poller(hrt_loop *loop) {
    if (loop->timer_interest != NULL) hrt_poller_remove(loop->poller, loop->timer_interest);
    if (loop->poller != NULL) hrt_poller_destroy(loop->poller);
    loop->timer_interest = NULL;
    loop->poller = NULL;
}

void hrt_loop_leave_host(hrt_loop *loop) {
    if (!loop->is_hosted) return;
    close_poller(loop);
    loop->is_hosted = false;
}

void hrt_loop_destroy(hrt_loop *loop) {
    close_poller(loop);
    if (loop->timer_fd >= 0) close(loop->timer_fd);
    free(loop->ready);
    free(loop);
}

static void arm(hrt_loop *loop, int64_t deadline_ns) {
    hrt_timerfd_arm(loop->timer_fd, deadline_ns);
    loop->armed_ns = deadline_ns;
    loop->is_expired = false;
}

// Makes the timerfd readable, as if it had expired, without the timer interrupt that a past
// deadline costs: the sleeping thread runs after 4 us, as with an eventfd, instead of after 29.
static void make_readable(int fd) {
    // Kernels without CONFIG_CHECKPOINT_RESTORE lack TFD_IOC_SET_TICKS (timerfd_create(2)).
    uint64_t expirations = 1;
    if (HRT_STATUS(ioctl(fd, TFD_IOC_SET_TICKS, &expirations)) != 0) hrt_timerfd_arm(fd, 0);
}

static int take_wake(hrt_loop *loop) {
    if (!atomic_exchange(&loop->woken, 0)) return 0;
    loop->is_expired = true;  // timer_fd is readable for the wake, or will be soon
    return HRT_LOOP_WOKEN;
}

// Looks at the descriptors once, and returns what it found besides the timer.
static int look(hrt_loop *loop, bool waits) {
    loop->ready_count = 0;
    // A signal does not end the run; the timerfd's deadline is absolute.
    hrt_poller_run(loop->poller, waits);
    return take_wake(loop) | (loop->ready_count > 0 ? HRT_LOOP_READY : 0);
}

int hrt_loop_poll(hrt_loop *loop) {
    // The host runs its base's loop, which must not be entered again.
    if (loop->is_hosted) return take_wake(loop) | (loop->ready_count > 0 ? HRT_LOOP_READY : 0);
    if (loop->watch_count > 0) return look(loop, false);
    loop->ready_count = 0;
    return take_wake(loop);
}

void hrt_loop_enter(hrt_loop *loop) { loop->slack_ns = (int64_t)hrt_thread_timer_slack_ns(); }

// With nothing watched a futex suffices, and the kernel's timer wakes the thread directly. A
// futex's wait is subject to the thread's timer slack, which a timerfd's is not; and the slack is
// for the thread's owner to set. So the futex's deadline is earlier by the slack, and the wait ends
// at the deadline at the latest. If another timer's interrupt ends it before the deadline, as the
// slack allows, the caller waits for the rest by the timerfd. prctl(2), PR_SET_TIMERSLACK
static int wait_in_futex(hrt_loop *loop, int64_t deadline_ns) {
    int64_t wake_ns = deadline_ns == HRT_NEVER ? HRT_NEVER : deadline_ns - loop->slack_ns;
    bool is_over;
    int found;
    loop->ready_count = 0;
    atomic_store(&loop->is_in_futex, true);
    do {
        is_over = hrt_futex_sleep(&loop->woken, HRT_CLOCK_MONOTONIC, wake_ns);
        found = take_wake(loop);
    } while (found == 0 && !is_over);
    atomic_store(&loop->is_in_futex, false);
    return found;
}

// Waits in poll(2): with nothing watched the poller would wait for the timerfd alone.
static int wait_for_timer(hrt_loop *loop) {
    struct pollfd timer = {.fd = loop->timer_fd, .events = POLLIN};
    hrt_must("poll", HRT_CALL(poll(&timer, 1, -1)));
    loop->is_expired = true;
    loop->ready_count = 0;
    return take_wake(loop);
}

int hrt_loop_wait(hrt_loop *loop, int64_t deadline_ns) {
    deadline_ns = hrt_tick_reading(HRT_CLOCK_MONOTONIC, loop->tick_ns, deadline_ns);
    bool is_alone = loop->watch_count == 0 && loop->may_use_futex;
    if (is_alone &&
        (deadline_ns == HRT_NEVER || hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) < deadline_ns)) {
        int found = wait_in_futex(loop, deadline_ns);
        if (found != 0) return found;
    }
    for (;;) {
        if (hrt_loop_is_woken(loop)) return hrt_loop_poll(loop);
        if (deadline_ns != HRT_NEVER && hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) >= deadline_ns)
            return hrt_loop_poll(loop);
        if (deadline_ns != loop->armed_ns || loop->is_expired) {
            arm(loop, deadline_ns);
            // timerfd_settime(2) clears the expiration of a wake that came just before, but not
            // that of a later wake.
            if (hrt_loop_is_woken(loop)) continue;
        }
        int found = is_alone ? wait_for_timer(loop) : look(loop, true);
        if (found != 0) return found;
        // Either the deadline has come, or this is spurious: the expiration of a wake came after
        // the wake was consumed.
    }
}

int hrt_loop_wait_until_spin_window(hrt_loop *loop, int64_t deadline_ns, hrt_spin_window *window) {
    for (;;) {
        hrt_early_wake early = hrt_wake_early(HRT_CLOCK_MONOTONIC, deadline_ns, window);
        // Checks the descriptors once: otherwise timers for which the thread never sleeps would
        // starve them.
        if (early.has_begun) return hrt_loop_poll(loop);
        int found = hrt_loop_wait(loop, early.wake_ns);
        if (found == 0) hrt_woken_early(HRT_CLOCK_MONOTONIC, early, window);
        if (found != 0 || !early.is_first) return found;
    }
}

int hrt_loop_spin(hrt_loop *loop, int64_t deadline_ns, hrt_spin_window *window, int64_t *out_now_ns,
                  int64_t *out_spun_ns) {
    *out_spun_ns = 0;
    *out_now_ns = hrt_spin_in_window(&loop->woken, HRT_CLOCK_MONOTONIC, deadline_ns, INT64_MAX,
                                     window, out_spun_ns);
    return *out_now_ns >= deadline_ns ? 0 : hrt_loop_poll(loop);
}

void hrt_loop_arm(hrt_loop *loop, int64_t deadline_ns) {
    // Always arms, so that nothing older makes the descriptor readable, not even an expiration
    // after the last poll.
    arm(loop, hrt_tick_reading(HRT_CLOCK_MONOTONIC, loop->tick_ns, deadline_ns));
    if (hrt_loop_is_woken(loop)) make_readable(loop->timer_fd);
}

int hrt_loop_descriptor(const hrt_loop *loop) {
    return loop->poller == NULL ? -ENOTSUP : hrt_poller_descriptor(loop->poller, loop->timer_fd);
}

size_t hrt_loop_take_ready(hrt_loop *loop, const hrt_ready **out_ready) {
    size_t count = loop->ready_count;
    loop->ready_count = 0;
    *out_ready = loop->ready;
    return count;
}

void hrt_loop_wake(hrt_loop *loop) {
    // Sequentially consistent, as the loads are. So either the waiter sees the wake after it armed,
    // or the expiration comes after the arming. And either the waiter sees the wake before it
    // changes between futex and timerfd, or this thread sees that change.
    if (atomic_exchange(&loop->woken, 1) != 0) return;
    int kept = hrt_kept_errno();
    if (atomic_load(&loop->is_in_futex)) {
        hrt_futex_wake(&loop->woken);
    } else {
        make_readable(loop->timer_fd);
    }
    hrt_restore_errno(kept);
}

int hrt_loop_is_woken(const hrt_loop *loop) { return (int)atomic_load(&loop->woken); }

// Returns 0 if epoll_ctl(2) accepts the descriptor. It refuses files without a poll operation, such
// as /dev/null. stat(2) does not show that, and poll(2) reports such a file as ready.
static int try_epoll(int fd) {
    int set = (int)HRT_CALL(epoll_create1(EPOLL_CLOEXEC));
    if (set < 0) return 0;  // no descriptor is left to try it
    struct epoll_event event = {.events = EPOLLIN};
    int status = HRT_STATUS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
    close(set);
    return status;
}

int hrt_loop_can_watch(int fd) {
    struct stat file;
    int status = HRT_STATUS(fstat(fd, &file));
    if (status != 0) return status;
    if (S_ISREG(file.st_mode) || S_ISDIR(file.st_mode)) return -EPERM;
    return S_ISSOCK(file.st_mode) || S_ISFIFO(file.st_mode) ? 0 : try_epoll(fd);
}

static int make_room(hrt_loop *loop) {
    if (loop->watch_count < loop->ready_capacity) return 0;
    size_t capacity = loop->ready_capacity == 0 ? 8 : loop->ready_capacity * 2;
    hrt_ready *ready = realloc(loop->ready, capacity * sizeof *ready);
    if (ready == NULL) return -ENOMEM;
    loop->ready = ready;
    loop->ready_capacity = capacity;
    return 0;
}

int hrt_loop_watch(hrt_loop *loop, int fd, uint32_t events, uint64_t tag, hrt_watch **out_watch) {
    // Checked first, because libevent writes a warning to stderr when epoll_ctl fails.
    int status = hrt_loop_can_watch(fd);
    if (status == 0) status = make_room(loop);
    if (status != 0) return status;
    hrt_watch *watch = malloc(sizeof *watch);
    if (watch == NULL) return -ENOMEM;
    *watch = (hrt_watch){.loop = loop, .tag = tag};
    status = hrt_poller_add(loop->poller, fd, events, on_ready, watch, &watch->interest);
    if (status != 0) {
        free(watch);
        return status;
    }
    loop->watch_count++;
    *out_watch = watch;
    return 0;
}

void hrt_loop_unwatch(hrt_loop *loop, hrt_watch *watch) {
    hrt_poller_remove(loop->poller, watch->interest);
    free(watch);
    loop->watch_count--;
}
#endif

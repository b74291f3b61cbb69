// SPDX-License-Identifier: Apache-2.0
// Checks the parts of the C core that depend on the architecture: the lateness histogram, the spin
// window and the park strategies. It needs neither Swift nor libevent, so that it can be built for
// another architecture and run under an emulator. Aborts at the first check that fails.
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "hrt_clock.h"
#include "hrt_histogram.h"
#include "hrt_realtime.h"
#include "hrt_spin_window.h"
#include "hrt_wait.h"

enum { WAITS = 50, MS = 1000000 };

static void require(bool holds, const char *sentence) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", sentence);
    abort();
}

static void check_histogram(void) {
    hrt_histogram *histogram, *sum;
    require(hrt_histogram_create(3, 10 * HRT_NS_PER_S, &histogram) == 0, "a histogram can be made");
    require(hrt_histogram_create(3, 10 * HRT_NS_PER_S, &sum) == 0, "and a second one");
    int64_t total_ns = 0;
    for (int64_t value_ns = 1; value_ns <= 1000000; value_ns++) {
        hrt_histogram_record(histogram, value_ns);
        total_ns += value_ns;
    }
    hrt_histogram_record(histogram, -7);
    require(hrt_histogram_add(sum, histogram) == 0, "a histogram can be added");
    require(hrt_histogram_count(sum) == 1000001, "every value is counted");
    require(hrt_histogram_early_count(sum) == 1, "what was early is counted apart");
    require(hrt_histogram_min_ns(sum) == -7 && hrt_histogram_max_ns(sum) == 1000000,
            "both ends are exact");
    require(hrt_histogram_sum_ns(sum) == total_ns - 7, "the sum is exact");
    int64_t median_ns = hrt_histogram_percentile_ns(sum, 50);
    require(median_ns >= 499500 && median_ns <= 500500, "the median is right to three digits");
    size_t cursor = 0;
    uint64_t count = 0;
    int64_t last_ns = INT64_MIN;
    for (hrt_histogram_bucket bucket; hrt_histogram_next(sum, &cursor, &bucket);
         count += bucket.count) {
        require(bucket.low_ns > last_ns && bucket.high_ns >= bucket.low_ns,
                "buckets come in order");
        last_ns = bucket.high_ns;
    }
    require(count == 1000001, "buckets hold all there is");
    hrt_histogram_destroy(histogram);
    hrt_histogram_destroy(sum);
}

static void check_margin(void) {
    hrt_spin_window window;
    hrt_spin_budget budget;
    int64_t now_ns = HRT_NS_PER_S, used_ns = 0;
    hrt_spin_budget_init(&budget, 1, now_ns);
    hrt_spin_window_init(&window, 0.9, &budget);
    for (int wake = 0; wake < 1000; wake++, now_ns += MS) {
        used_ns = hrt_spin_window_ns(&window, MS, now_ns);
        require(used_ns >= 0, "a margin is not negative");
        int64_t latency_ns = 5000 + wake * 7919 % 15000;
        hrt_spin_window_record_wake(&window, MS, latency_ns);
        hrt_spin_budget_spend(&budget, used_ns > latency_ns ? used_ns - latency_ns : 0);
    }
    require(used_ns >= 15000 && used_ns <= 25000,
            "the margin is near the quantile of the latencies");
    hrt_spin_budget_init(&budget, 0, now_ns);
    hrt_spin_window_init(&window, 0.9, &budget);
    hrt_spin_window_record_wake(&window, MS, 10000);
    require(hrt_spin_window_ns(&window, MS, now_ns + MS) == 0, "without a budget there is none");
}

static void *wake_later(void *opaque) {
    struct timespec delay = hrt_timespec_from_ns(20 * MS);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL);
    hrt_wait_wake(opaque);
    return NULL;
}

static void check_wake(hrt_wait *wait) {
    pthread_t thread;
    require(pthread_create(&thread, NULL, wake_later, wait) == 0, "a thread can be made");
    require(hrt_wait_until(wait, HRT_NEVER) == HRT_WAIT_WOKEN, "a wait without end ends by a wake");
    pthread_join(thread, NULL);
    hrt_wait_wake(wait);
    hrt_wait_wake(wait);
    require(hrt_wait_until(wait, HRT_NEVER) == HRT_WAIT_WOKEN, "a wake before the wait ends it");
    int64_t deadline_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) + 2 * MS;
    require(hrt_wait_until(wait, deadline_ns) == HRT_WAIT_TIMED_OUT, "and only one wait");
}

static void check_wait(hrt_wait_kind kind, const char *name) {
    hrt_wait *wait;
    require(hrt_wait_create(kind, HRT_CLOCK_MONOTONIC, &wait) == 0, name);
    require(hrt_wait_until(wait, 0) == HRT_WAIT_TIMED_OUT, "a past deadline returns at once");
    int64_t best_ns = INT64_MAX;
    for (int number = 0; number < WAITS; number++) {
        int64_t deadline_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) + number * MS / 10;
        require(hrt_wait_until(wait, deadline_ns) == HRT_WAIT_TIMED_OUT, "nobody wakes it");
        int64_t late_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) - deadline_ns;
        require(late_ns >= 0, "no wait ends early");
        if (late_ns < best_ns) best_ns = late_ns;
    }
    require(best_ns < 20 * MS, "the best of them is not late");
    check_wake(wait);
    hrt_wait_destroy(wait);
    printf("%s: never early, at best %" PRId64 " ns late, woken\n", name, best_ns);
}

// Here nobody links CRealtimeKit.
static void check_services(void) {
    hrt_realtime_answer answer;
    require(hrt_thread_ask_realtime(1, &answer) == -EPERM, "without CRealtimeKit it is refused");
    require(answer.service == HRT_NO_SERVICE && answer.why[0] != 0, "and told why");
}

int main(void) {
    check_histogram();
    check_margin();
    check_wait(HRT_WAIT_FUTEX, "futex");
    check_wait(HRT_WAIT_TIMERFD, "timerfd");
    check_services();
    return 0;
}

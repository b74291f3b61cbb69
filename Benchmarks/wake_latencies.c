// What the spin window is built on, measured on this machine: how far a wake latency follows from
// the ones before, what a prediction is worth, and what a second wake is. Linked with the library's
// own spin window. Writes CSV.
//   wake_latencies RATE FIRES
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "hrt_clock.h"
#include "hrt_spin_window.h"

enum { BLOCK = 20, KEPT = 100, MODES = 7 };

static const int64_t EXACT_NS = 1000;

static int64_t cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return hrt_ns_from_timespec(time);
}

static int64_t now_ns(void) { return hrt_clock_now_ns(HRT_CLOCK_MONOTONIC); }

// Gives how late it is then.
static int64_t sleep_until(int64_t instant_ns) {
    struct timespec instant = hrt_timespec_from_ns(instant_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &instant, NULL) != 0) continue;
    return now_ns() - instant_ns;
}

static int ascending(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static void print(double rate, const char *what, double value, const char *unit) {
    printf("%g,%s,%.3f,%s\n", rate, what, value, unit);
}

static void percentiles(double rate, const int64_t *latencies, size_t count) {
    int64_t *sorted = malloc(count * sizeof *sorted);
    memcpy(sorted, latencies, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    print(rate, "latency p10", (double)sorted[count / 10] / 1000, "us");
    print(rate, "latency p50", (double)sorted[count / 2] / 1000, "us");
    print(rate, "latency p90", (double)sorted[count * 9 / 10] / 1000, "us");
    print(rate, "latency p99", (double)sorted[count * 99 / 100] / 1000, "us");
    free(sorted);
}

// Of latencies up to 300 us: a stall would be all that there is to see.
static void correlation(double rate, const int64_t *latencies, size_t count, size_t lag) {
    double mean = 0, square = 0, product = 0;
    for (size_t i = 0; i < count; i++) mean += fmin((double)latencies[i], 300e3) / (double)count;
    for (size_t i = 0; i < count; i++) {
        double here = fmin((double)latencies[i], 300e3) - mean;
        square += here * here;
        if (i >= lag) product += here * (fmin((double)latencies[i - lag], 300e3) - mean);
    }
    char what[64];
    snprintf(what, sizeof what, "correlation with latency %zu before", lag);
    print(rate, what, product / square, "");
}

// The library's windows for these latencies, and the rival: a quantile of the last hundred.
static void replay(double rate, const int64_t *latencies, size_t count) {
    int64_t sleep_ns = (int64_t)(1e9 / rate);
    hrt_spin_budget budget;
    hrt_spin_window window;
    hrt_spin_budget_init(&budget, 0.0125, 0);
    hrt_spin_window_init(&window, 0.99, &budget);
    double exact = 0, spun = 0, rival_exact = 0, rival_spun = 0, replayed = (double)(count - KEPT);
    for (size_t i = 0; i < count; i++) {
        int64_t used_ns = hrt_spin_window_ns(&window, sleep_ns, (int64_t)(i + 10) * sleep_ns);
        int64_t spun_ns = used_ns > latencies[i] ? used_ns - latencies[i] : 0;
        hrt_spin_window_record_wake(&window, sleep_ns, latencies[i]);
        hrt_spin_budget_spend(&budget, spun_ns);
        if (i < KEPT) continue;
        exact += latencies[i] <= used_ns + EXACT_NS;
        spun += (double)spun_ns;
    }
    // The largest that spins no more, so that the shares can be compared.
    for (int quantile = KEPT - 1; quantile > 0; quantile--) {
        rival_exact = rival_spun = 0;
        for (size_t i = KEPT; i < count; i++) {
            int64_t last[KEPT];
            memcpy(last, latencies + i - KEPT, sizeof last);
            qsort(last, KEPT, sizeof *last, ascending);
            int64_t left_ns = last[quantile] - latencies[i];
            rival_exact += left_ns >= -EXACT_NS;
            if (left_ns > 0) rival_spun += (double)left_ns;
        }
        if (rival_spun <= spun) break;
    }
    print(rate, "predicted: exact", 100 * exact / replayed, "%");
    print(rate, "predicted: spun", spun / replayed / 1000, "us");
    print(rate, "quantile of the last 100: exact", 100 * rival_exact / replayed, "%");
    print(rate, "quantile of the last 100: spun", rival_spun / replayed / 1000, "us");
}

struct mode {
    int64_t first_us, second_us;  // before the deadline; no first wake: 0
};

// One wake and two, interleaved.
static void wakes(double rate, size_t count) {
    static const struct mode modes[MODES] = {{0, 0},    {0, 120},  {0, 160}, {0, 200},
                                             {300, 40}, {300, 60}, {300, 80}};
    double exact[MODES] = {0}, cost_ns[MODES] = {0};
    int64_t step_ns = (int64_t)(1e9 / rate), deadline_ns = now_ns() + step_ns;
    for (size_t round = 0; round < count / BLOCK; round++) {
        for (int m = 0; m < MODES; m++) {
            for (int fire = 0; fire < BLOCK; fire++) {
                int64_t begun_ns = cpu_ns();
                if (modes[m].first_us > 0) sleep_until(deadline_ns - modes[m].first_us * 1000);
                sleep_until(deadline_ns - modes[m].second_us * 1000);
                while (now_ns() < deadline_ns) continue;
                exact[m] += now_ns() <= deadline_ns + EXACT_NS;
                cost_ns[m] += (double)(cpu_ns() - begun_ns);
                while (deadline_ns <= now_ns()) deadline_ns += step_ns;
            }
        }
    }
    double fires = (double)(count / BLOCK * BLOCK);
    for (int m = 0; m < MODES; m++) {
        char what[64];
        snprintf(what, sizeof what, "wakes at %" PRId64 " and %" PRId64 " us: exact",
                 modes[m].first_us, modes[m].second_us);
        print(rate, what, 100 * exact[m] / fires, "%");
        snprintf(what, sizeof what, "wakes at %" PRId64 " and %" PRId64 " us: cost",
                 modes[m].first_us, modes[m].second_us);
        print(rate, what, cost_ns[m] / fires / 1000, "us");
    }
}

int main(int argc, char **argv) {
    double rate = argc == 3 ? atof(argv[1]) : 0;
    size_t count = argc == 3 ? (size_t)atoi(argv[2]) : 0;
    if (rate <= 0 || count <= 2 * KEPT) {
        fprintf(stderr, "usage: wake_latencies RATE FIRES (in Hz; more than %d)\n", 2 * KEPT);
        return 64;
    }
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    int64_t *latencies = malloc(count * sizeof *latencies);
    int64_t step_ns = (int64_t)(1e9 / rate), deadline_ns = now_ns() + step_ns;
    for (size_t i = 0; i < count; i++) {
        latencies[i] = sleep_until(deadline_ns);
        while (deadline_ns <= now_ns()) deadline_ns += step_ns;
    }
    percentiles(rate, latencies, count);
    for (size_t lag = 1; lag <= 3; lag++) correlation(rate, latencies, count, lag);
    replay(rate, latencies, count);
    wakes(rate, count / 4);
    free(latencies);
    return 0;
}

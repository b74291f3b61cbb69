// SPDX-License-Identifier: Apache-2.0
// Measures on this machine the assumptions behind the spin window: how well a wake latency can be
// predicted from the previous ones, from the processor and its idle state, and from the load; how
// much the prediction gains; and what a second wake gains and costs. Linked with the library's own
// spin window. Writes CSV, each line beginning with NAME. The latencies are written to FILE, from
// which another build of the spin window can replay them.
//   wake_latencies NAME RATE FIRES FILE
//   wake_latencies NAME RATE replay FILE
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "hrt_clock.h"
#include "hrt_spin_window.h"

enum { BLOCK = 20, KEPT = 100, MODES = 7, STATES = 10, GROUPS = 16 };

static const char *name;

// One sleep: how late it ended, and what was known before it began.
struct sleep {
    int64_t latency_ns;
    unsigned processor, idle_state, running;
};

static const int64_t EXACT_NS = 1000;

static int64_t cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return hrt_ns_from_timespec(time);
}

static int64_t now_ns(void) { return hrt_clock_now_ns(HRT_CLOCK_MONOTONIC); }

// Sleeps until the instant. Returns how late the thread woke.
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
    printf("%s,%g,%s,%.3f,%s\n", name, rate, what, value, unit);
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

// Latencies above 300 us count as 300 us: otherwise a single stall would dominate the result.
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

// Prints the share of the variance that lies between groups of sleeps for which the same was known
// before: 0 % means that the group says nothing about the latency, 100 % that it determines it.
static void explained(double rate, const struct sleep *sleeps, size_t count, const char *by,
                      unsigned (*group_of)(const struct sleep *)) {
    double sum[GROUPS] = {0}, squares = 0, total = 0, between = 0;
    size_t members[GROUPS] = {0};
    for (size_t i = 0; i < count; i++) {
        double latency_ns = fmin((double)sleeps[i].latency_ns, 300e3);
        unsigned group = group_of(&sleeps[i]) % GROUPS;
        sum[group] += latency_ns;
        members[group]++;
        total += latency_ns;
        squares += latency_ns * latency_ns;
    }
    double mean = total / (double)count, variance = squares - mean * total;
    for (unsigned group = 0; group < GROUPS; group++) {
        if (members[group] == 0) continue;
        double distance = sum[group] / (double)members[group] - mean;
        between += (double)members[group] * distance * distance;
    }
    char what[64];
    snprintf(what, sizeof what, "variance explained by %s", by);
    print(rate, what, variance > 0 ? 100 * between / variance : 0, "%");
}

static unsigned processor_of(const struct sleep *sleep) { return sleep->processor; }
static unsigned idle_state_of(const struct sleep *sleep) { return sleep->idle_state; }
static unsigned running_of(const struct sleep *sleep) {
    return sleep->running < GROUPS ? sleep->running : GROUPS - 1;
}

// Reads how often the processor has entered each of its idle states, from
// /sys/devices/system/cpu/cpu*/cpuidle; 0 for a state that the processor lacks.
static void read_idle_states(unsigned processor, uint64_t usage[STATES]) {
    for (int state = 0; state < STATES; state++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpuidle/state%d/usage",
                 processor, state);
        usage[state] = 0;
        FILE *file = fopen(path, "r");
        if (file == NULL) return;
        if (fscanf(file, "%" SCNu64, &usage[state]) != 1) usage[state] = 0;
        fclose(file);
    }
}

// Returns the state that was entered most often between the two readings.
static unsigned most_used(const uint64_t before[STATES], const uint64_t after[STATES]) {
    unsigned most = 0;
    for (unsigned state = 1; state < STATES; state++)
        if (after[state] - before[state] > after[most] - before[most]) most = state;
    return most;
}

// Returns the number of threads that run or could run, this one included, from loadavg(5).
static unsigned running_threads(void) {
    unsigned running = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%*f %*f %*f %u", &running) != 1) running = 0;
    fclose(file);
    return running;
}

// Sleeps `count` times, and records what was known before each sleep.
static void sleep_often(double rate, struct sleep *sleeps, size_t count) {
    int64_t step_ns = (int64_t)(1e9 / rate), deadline_ns = now_ns() + step_ns;
    unsigned idle_state = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t before[STATES], after[STATES];
        unsigned processor = (unsigned)sched_getcpu();
        read_idle_states(processor, before);
        sleeps[i].processor = processor;
        sleeps[i].idle_state = idle_state;
        sleeps[i].running = running_threads();
        sleeps[i].latency_ns = sleep_until(deadline_ns);
        read_idle_states(processor, after);
        idle_state = most_used(before, after);
        while (deadline_ns <= now_ns()) deadline_ns += step_ns;
    }
}

// Applies the library's spin windows to these latencies, and as a rival a quantile of the last
// hundred latencies.
static void replay(double rate, const int64_t *latencies, size_t count, bool is_library) {
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
    const char *which = is_library ? "predicted" : "predicted, fading a tenth as fast";
    char what[64];
    snprintf(what, sizeof what, "%s: exact", which);
    print(rate, what, 100 * exact / replayed, "%");
    snprintf(what, sizeof what, "%s: spun", which);
    print(rate, what, spun / replayed / 1000, "us");
    if (!is_library) return;
    // The largest quantile that spins no longer than the library, so that the exact shares compare.
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
    print(rate, "quantile of the last 100: exact", 100 * rival_exact / replayed, "%");
    print(rate, "quantile of the last 100: spun", rival_spun / replayed / 1000, "us");
}

struct mode {
    int64_t first_us, second_us;  // before the deadline; first_us is 0 if there is no first wake
};

// Measures fires with one wake and with two wakes, interleaved.
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

static void *allocate(size_t count, size_t size) {
    void *memory = malloc(count * size);
    if (memory != NULL) return memory;
    perror("wake_latencies");
    exit(1);
}

static int measure(double rate, size_t count, const char *path) {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    struct sleep *sleeps = allocate(count, sizeof *sleeps);
    int64_t *latencies = allocate(count, sizeof *latencies);
    sleep_often(rate, sleeps, count);
    for (size_t i = 0; i < count; i++) latencies[i] = sleeps[i].latency_ns;
    percentiles(rate, latencies, count);
    for (size_t lag = 1; lag <= 3; lag++) correlation(rate, latencies, count, lag);
    explained(rate, sleeps, count, "the processor", processor_of);
    explained(rate, sleeps, count, "the idle state before", idle_state_of);
    explained(rate, sleeps, count, "the threads that run", running_of);
    replay(rate, latencies, count, true);
    wakes(rate, count / 4);
    FILE *file = fopen(path, "wb");
    bool is_written = file != NULL && fwrite(latencies, sizeof *latencies, count, file) == count;
    if (file != NULL && fclose(file) != 0) is_written = false;
    if (!is_written) perror(path);
    free(sleeps);
    free(latencies);
    return is_written ? 0 : 1;
}

static int replay_file(double rate, const char *path) {
    enum { MOST = 1000000 };
    int64_t *latencies = allocate(MOST, sizeof *latencies);
    FILE *file = fopen(path, "rb");
    size_t count = file == NULL ? 0 : fread(latencies, sizeof *latencies, MOST, file);
    if (file != NULL) fclose(file);
    if (count > KEPT) replay(rate, latencies, count, false);
    free(latencies);
    return count > KEPT ? 0 : 1;
}

int main(int argc, char **argv) {
    double rate = argc == 5 ? atof(argv[2]) : 0;
    bool replays = argc == 5 && strcmp(argv[3], "replay") == 0;
    size_t count = argc == 5 ? (size_t)atoi(argv[3]) : 0;
    if (rate <= 0 || (!replays && count <= 2 * KEPT)) {
        fprintf(stderr, "usage: wake_latencies NAME RATE FIRES|replay FILE (in Hz; more than %d)\n",
                2 * KEPT);
        return 64;
    }
    name = argv[1];
    return replays ? replay_file(rate, argv[4]) : measure(rate, count, argv[4]);
}

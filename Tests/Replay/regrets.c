// SPDX-License-Identifier: Apache-2.0
// regrets FOLDER: the regret of each recorded trace, as it is, halved and with idle states. With
// `means` after that, a line of six numbers: geometric mean and worst with 5 us as the bound, then
// with 1 us, over all traces; then the worst of a machine's mean with each bound.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctest_replay.h"

enum { MOST = 100000, RATES = 3, LOADS = 3, MACHINES = 3, BOUNDS = 2 };

static const struct {
    const char *name;
    int64_t interval_ns;
} rates[RATES] = {{"1ms", 1000000}, {"4.17ms", 4166667}, {"16.67ms", 16666667}};
static const char *const loads[LOADS] = {"idle", "busy", "changing"};
static const char *const machines[MACHINES] = {"as recorded", "halved", "idle states"};
static const int64_t bounds_ns[BOUNDS] = {5000, 1000};

static size_t read_trace(const char *folder, const char *rate, const char *load,
                         int64_t *latencies_ns) {
    char path[1000];
    snprintf(path, sizeof path, "%s/xeon-%s-%s", folder, rate, load);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    size_t count = 0;
    long long latency_ns;
    while (count < MOST && fscanf(file, "%lld", &latency_ns) == 1)
        latencies_ns[count++] = latency_ns;
    fclose(file);
    return count;
}

static double mean_of(const double regrets[RATES * LOADS]) {
    double sum = 0;
    for (int index = 0; index < RATES * LOADS; index++) sum += log(regrets[index]);
    return exp(sum / (RATES * LOADS));
}

int main(int count_of_arguments, char **arguments) {
    static int64_t latencies_ns[MOST];
    int prints_means = count_of_arguments > 2 && strcmp(arguments[2], "means") == 0;
    for (int machine = 0; machine < MACHINES; machine++) {
        double regrets[BOUNDS][RATES * LOADS], worst[BOUNDS] = {0};
        for (int load = 0, at = 0; load < LOADS; load++)
            for (int rate = 0; rate < RATES; rate++, at++) {
                int64_t interval_ns = rates[rate].interval_ns;
                size_t count =
                    read_trace(arguments[1], rates[rate].name, loads[load], latencies_ns);
                if (machine == 1) ctest_replay_halve(latencies_ns, count);
                if (machine == 2) ctest_replay_add_idle_states(latencies_ns, count, interval_ns);
                for (int bound = 0; bound < BOUNDS; bound++) {
                    double regret =
                        ctest_replay_regret(latencies_ns, count, interval_ns, bounds_ns[bound]);
                    regrets[bound][at] = regret;
                    if (regret > worst[bound]) worst[bound] = regret;
                }
                if (!prints_means)
                    printf("%-12s %-8s %-8s %.2f %.2f\n", machines[machine], rates[rate].name,
                           loads[load], regrets[0][at], regrets[1][at]);
            }
        printf("%s%.3f %.3f %.3f %.3f%s",
               prints_means ? "" : "mean and worst: ", mean_of(regrets[0]), worst[0],
               mean_of(regrets[1]), worst[1], prints_means && machine < MACHINES - 1 ? " " : "\n");
    }
}

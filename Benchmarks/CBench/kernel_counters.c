// SPDX-License-Identifier: Apache-2.0
// The processor's own counters. The bench works without them where there are none, as in most
// virtual machines, or where not everyone may use them (kernel.perf_event_paranoid).
#include <dirent.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cbench_kernel.h"
#include "kernel_wait.h"

enum { COUNTERS = 3, MOST_THREADS = 256 };

static const uint64_t events[COUNTERS] = {
    PERF_COUNT_HW_INSTRUCTIONS,
    PERF_COUNT_HW_CPU_CYCLES,
    PERF_COUNT_HW_CACHE_MISSES,
};

static int open_counter(uint64_t event, pid_t thread, bool excludes_kernel) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attributes,
        .config = event,
        .inherit = 1,  // by threads that this one starts
        .exclude_hv = 1,
        .exclude_kernel = excludes_kernel,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int counter(uint64_t event, pid_t thread) {
    int file = open_counter(event, thread, false);
    return file >= 0 ? file : open_counter(event, thread, true);
}

cbench_counters cbench_counters_open(void) {
    cbench_counters counters = cbench_no_counters();
    // One probe decides for all counters: most machines have none.
    int probe = counter(events[0], 0);
    if (probe < 0) return counters;
    close(probe);
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) return counters;
    counters.files = malloc(sizeof counters.files[0] * MOST_THREADS);
    for (struct dirent *task; counters.files && (task = readdir(tasks)) != NULL;) {
        pid_t thread = (pid_t)atoi(task->d_name);
        if (thread <= 0 || counters.threads == MOST_THREADS) continue;
        int *files = counters.files[counters.threads++];
        for (size_t i = 0; i < COUNTERS; i++) files[i] = counter(events[i], thread);
    }
    closedir(tasks);
    return counters;
}

void cbench_counters_close(cbench_counters counters) {
    for (size_t thread = 0; thread < counters.threads; thread++) {
        for (size_t i = 0; i < COUNTERS; i++) {
            if (counters.files[thread][i] >= 0) close(counters.files[thread][i]);
        }
    }
    free(counters.files);
}

int64_t cbench_counter_value(cbench_counters counters, size_t counter) {
    int64_t sum = 0;
    for (size_t thread = 0; thread < counters.threads; thread++) {
        int64_t value;
        int file = counters.files[thread][counter];
        // A thread that has ended does not invalidate the counts of the others.
        if (file >= 0 && read(file, &value, sizeof value) == (ssize_t)sizeof value) sum += value;
    }
    return sum > 0 ? sum : -1;
}

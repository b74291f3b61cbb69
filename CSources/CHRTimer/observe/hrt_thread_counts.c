// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#ifdef __linux__
#include "../include/hrt_thread_counts.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../include/hrt_clock.h"

int hrt_thread_counts_open(void) {
    return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

// Returns the second number of the file, proc_pid_schedstat in
// Documentation/scheduler/sched-stats.rst.
static int64_t run_delay_ns(int file) {
    char text[96];
    ssize_t count = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    if (count <= 0) return -1;
    text[count] = 0;
    char *second = strchr(text, ' ');
    return second ? strtoll(second, NULL, 10) : -1;
}

void hrt_thread_counts_read(int file, hrt_thread_counts *counts) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    *counts = (hrt_thread_counts){
        .cpu_ns = hrt_ns_from_timespec(used),
        .run_delay_ns = run_delay_ns(file),
        .minor_faults = usage.ru_minflt,
        .major_faults = usage.ru_majflt,
        .voluntary_switches = usage.ru_nvcsw,
        .involuntary_switches = usage.ru_nivcsw,
    };
}

static ssize_t read_file(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t count = read(file, text, size - 1);
    close(file);
    if (count >= 0) text[count] = 0;
    return count;
}

int64_t hrt_stolen_ns(void) {
    char text[512];
    if (read_file("/proc/stat", text, sizeof text) <= 0) return 0;
    long long field[8] = {0};
    // user nice system idle iowait irq softirq steal
    sscanf(text, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &field[0], &field[1], &field[2],
           &field[3], &field[4], &field[5], &field[6], &field[7]);
    long ticks = sysconf(_SC_CLK_TCK);
    return ticks > 0 ? field[7] * (HRT_NS_PER_S / ticks) : 0;
}

// Extracts the path from a line "0::/path" (version 2) or "4:cpu,cpuacct:/path" (version 1) of
// proc_pid_cgroup(5), if the line is for `name`, which is empty for version 2.
static int find_group(const char *line, const char *name, char *path, size_t size) {
    const char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    if (!second) return 0;
    const char *end = strchrnul(second, '\n');
    char names[64];
    size_t length = (size_t)(second - first - 1);
    if (length >= sizeof names) return 0;
    memcpy(names, first + 1, length);
    names[length] = 0;
    char *rest = names, *one = NULL;
    int found = *name == 0 && length == 0;
    while (!found && (one = strsep(&rest, ",")) != NULL) found = *name && strcmp(one, name) == 0;
    if (found) snprintf(path, size, "%.*s", (int)(end - second - 1), second + 1);
    return found;
}

static int64_t number_after(const char *text, const char *name) {
    const char *found = strstr(text, name);
    return found ? strtoll(found + strlen(name), NULL, 10) : -1;
}

int64_t hrt_throttled_ns(void) {
    char groups[2048], group[512], file[640], text[1024];
    if (read_file("/proc/thread-self/cgroup", groups, sizeof groups) <= 0) return -1;
    int64_t throttled_ns = -1;
    for (char *line = groups; *line; line = strchrnul(line, '\n'), line += *line == '\n') {
        if (find_group(line, "", group, sizeof group)) {
            static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
            for (int mount = 0; mount < 2; mount++) {
                snprintf(file, sizeof file, "%s%s/cpu.stat", mounts[mount], group);
                if (read_file(file, text, sizeof text) <= 0) continue;
                int64_t us = number_after(text, "throttled_usec ");
                if (us > throttled_ns / 1000) throttled_ns = us * 1000;
            }
        } else if (find_group(line, "cpu", group, sizeof group)) {
            snprintf(file, sizeof file, "/sys/fs/cgroup/cpu%s/cpu.stat", group);
            if (read_file(file, text, sizeof text) <= 0) continue;
            int64_t ns = number_after(text, "throttled_time ");
            if (ns > throttled_ns) throttled_ns = ns;
        }
    }
    return throttled_ns;
}

static int by_length(const void *one, const void *other) {
    int64_t left = *(const int64_t *)one, right = *(const int64_t *)other;
    return (left > right) - (left < right);
}

int64_t hrt_page_fault_ns(void) {
    static _Atomic int64_t known_ns;
    int64_t fault_ns = atomic_load_explicit(&known_ns, memory_order_relaxed);
    if (fault_ns) return fault_ns;
    enum { PAGES = 65 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fault_ns = 500;
    if (memory != MAP_FAILED) {
        madvise(memory, size, MADV_NOHUGEPAGE);
        int64_t lengths[PAGES];
        for (int index = 0; index < PAGES; index++) {
            int64_t begin_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
            ((volatile char *)memory)[(size_t)index * page] = 1;
            lengths[index] = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) - begin_ns;
        }
        munmap(memory, size);
        qsort(lengths, PAGES, sizeof *lengths, by_length);
        fault_ns = lengths[PAGES / 2] > 0 ? lengths[PAGES / 2] : 1;
    }
    atomic_store_explicit(&known_ns, fault_ns, memory_order_relaxed);
    return fault_ns;
}
#endif
#endif

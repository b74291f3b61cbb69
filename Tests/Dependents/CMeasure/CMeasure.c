// SPDX-License-Identifier: Apache-2.0
// What Swift's module of glibc lacks.
#include "CMeasure.h"

#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct measured measured_process(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (struct measured){
        .cpu_ns = seconds(CLOCK_PROCESS_CPUTIME_ID) * 1e9,
        .waits = (double)used.ru_nvcsw,
        .heap_bytes = (double)mallinfo2().uordblks,
    };
}

double measured_thread_ns(void) { return seconds(CLOCK_THREAD_CPUTIME_ID) * 1e9; }

double measured_wall_s(void) { return seconds(CLOCK_REALTIME); }

bool measured_open_files(uint64_t wanted) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= wanted;
}

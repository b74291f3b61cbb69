// The processor's own counters. Where there are none, as in most virtual machines, or where they
// are not for everyone (kernel.perf_event_paranoid), the bench goes without.
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cbench_kernel.h"
#include "kernel_wait.h"

static int open_counter(uint64_t event, bool excludes_kernel) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attributes,
        .config = event,
        .inherit = 1,  // by threads that this one starts
        .exclude_hv = 1,
        .exclude_kernel = excludes_kernel,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int counter(uint64_t event) {
    int descriptor = open_counter(event, false);
    return descriptor >= 0 ? descriptor : open_counter(event, true);
}

cbench_counters cbench_counters_open(void) {
    return (cbench_counters){
        .instructions_fd = counter(PERF_COUNT_HW_INSTRUCTIONS),
        .cycles_fd = counter(PERF_COUNT_HW_CPU_CYCLES),
        .cache_misses_fd = counter(PERF_COUNT_HW_CACHE_MISSES),
    };
}

void cbench_counters_close(cbench_counters counters) {
    int descriptors[] = {counters.instructions_fd, counters.cycles_fd, counters.cache_misses_fd};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
        if (descriptors[i] >= 0) close(descriptors[i]);
    }
}

int64_t cbench_counter_value(int descriptor) {
    int64_t value;
    if (descriptor < 0) return -1;
    return read(descriptor, &value, sizeof value) == (ssize_t)sizeof value ? value : -1;
}

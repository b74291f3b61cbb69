// SPDX-License-Identifier: Apache-2.0
#ifndef CMEASURE_H
#define CMEASURE_H

#include <stdbool.h>
#include <stdint.h>

// What the process has used and holds.
struct measured {
    double cpu_ns;
    // How often its threads gave up the processor to wait.
    double waits;
    // Allocated and not freed, in all arenas.
    double heap_bytes;
};

struct measured measured_process(void);
double measured_thread_ns(void);
double measured_wall_s(void);
// Has the process open as many files as it may. Returns whether those are enough.
bool measured_open_files(uint64_t wanted);

#endif

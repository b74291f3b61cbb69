// SPDX-License-Identifier: Apache-2.0
// The resident memory of the process.
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "cbench_kernel.h"

int64_t cbench_resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    long mapped, resident;
    int fields = fscanf(file, "%ld %ld", &mapped, &resident);
    fclose(file);
    return fields == 2 ? (int64_t)resident * getpagesize() : 0;
}

void cbench_give_back_memory(void) { malloc_trim(0); }

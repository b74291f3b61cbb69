// SPDX-License-Identifier: Apache-2.0
#ifndef FAULT_H
#define FAULT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Returns whether this process has that fault again. `make faults` copies this file into each
// module of C that has one. Several threads may ask first: all of them store the same.
static inline bool hrt_fault(const char *name) {
    static const char *chosen;
    const char *known = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (known == NULL) {
        known = getenv("HRTIMER_FAULT");
        if (known == NULL) known = "";
        __atomic_store_n(&chosen, known, __ATOMIC_RELAXED);
    }
    return strcmp(known, name) == 0;
}

#endif

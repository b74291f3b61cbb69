// SPDX-License-Identifier: Apache-2.0
#ifndef VS_SOURCE_H
#define VS_SOURCE_H

#include "../CHRTimer/hrt_status.h"
#include "CVsync.h"

// The functions of each kind of source; each does what its namesake in CVsync.h does.
typedef struct {
    int (*request)(vs_source *source, uint64_t refreshes);
    int (*take)(vs_source *source, vs_sample *out_sample);
    void (*close)(vs_source *source);
} vs_ops;

// The first member of every source.
struct vs_source {
    const vs_ops *ops;
    int fd;
    int64_t told_numerator, told_denominator;
};

// Returns the present time on CLOCK_MONOTONIC.
int64_t vs_now_ms(void);

// Returns 1 as soon as the descriptor is readable, or 0 at the given instant.
int vs_wait_readable(int fd, int64_t until_ms);

#endif

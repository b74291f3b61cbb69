// SPDX-License-Identifier: Apache-2.0
#ifndef RIVALS_BLOCK_H
#define RIVALS_BLOCK_H

// The task of a rival that is a program of its own: it fills the block that its options describe,
// and writes the block to standard output in the form that bench reads (BlockRecorder.fill(from:)).
#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>
#include <stdint.h>

// Creates the block from --fires, --interval, --phase, --settling and --patience. Exits with status
// 64 if the options do not have the form in which bench passes them.
void rival_begin(int argc, char **argv);

// Returns the earliest deadline that has not been met, in ns of CLOCK_MONOTONIC.
int64_t rival_deadline_ns(void);
int64_t rival_now_ns(void);

// Records a fire at the present time. Returns false if it was the last one.
bool rival_fire(void);

// Writes the block, and returns the exit status of the process.
int rival_end(void);

#ifdef __cplusplus
}
#endif

#endif

#ifndef RIVALS_BLOCK_H
#define RIVALS_BLOCK_H

// What a rival in a program of its own has to do: fill the block that its options describe, and
// write it to standard output, as bench reads it (BlockRecorder.fill(from:)).
#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>
#include <stdint.h>

// Makes the block, from --fires, --interval, --phase, --settling and --patience. Exits with 64 if
// they are not as bench gives them.
void rival_begin(int argc, char **argv);

// The earliest deadline not met, ns of CLOCK_MONOTONIC.
int64_t rival_deadline_ns(void);
int64_t rival_now_ns(void);

// A fire, now. False: that was the last one.
bool rival_fire(void);

// Writes the block, and gives the status to exit with.
int rival_end(void);

#ifdef __cplusplus
}
#endif

#endif

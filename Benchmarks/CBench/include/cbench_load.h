// SPDX-License-Identifier: Apache-2.0
#ifndef CBENCH_LOAD_H
#define CBENCH_LOAD_H

#include <stdint.h>

// Processes that are started for a run and end with it, also when the thread that started them
// ends, in whatever way.

// Starts a program with the given arguments, which end with NULL, in a process group of its own.
// Its standard input and output are /dev/null. Returns 0 or a negative errno, also if the program
// cannot be started.
int cbench_load_execute(const char *_Nullable const *_Nonnull arguments,
                        int32_t *_Nonnull out_process);

// Kills a process, and its group if it has one of its own, and waits for its end.
void cbench_load_stop(int32_t process);

// Returns 0 while the process runs, and 1 once it has ended. An ended process must not be stopped.
int cbench_load_has_ended(int32_t process, int *_Nonnull out_status);

#endif

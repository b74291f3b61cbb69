#ifndef CBENCH_LOAD_H
#define CBENCH_LOAD_H

#include <stdint.h>

// Processes that are started for a run and end with it: also when the thread that started them
// ends, however it does.

// Starts a process that keeps a processor busy. 0 or a negative errno.
int cbench_load_start(int32_t *_Nonnull out_process);

// Starts a program, with the arguments up to a NULL, in a process group of its own, with nothing to
// read and nobody who reads what it writes to standard output. 0 or a negative errno, also if the
// program cannot be started.
int cbench_load_execute(const char *_Nullable const *_Nonnull arguments,
                        int32_t *_Nonnull out_process);

// Ends a process, and its group if it has one of its own, and waits for its end.
void cbench_load_stop(int32_t process);

// 0 while the process runs; 1 once it has ended. It is then no longer to be stopped.
int cbench_load_has_ended(int32_t process, int *_Nonnull out_status);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_SIGNAL_H
#define HRT_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// Counts signals of the process in eventfds, one for each signal, which a loop can watch. Any
// thread may call these functions.

// Replaces the process's handler for the signal, with SA_RESTART. Writes the descriptor, which is
// readable while signals are counted; hrt_signal_close closes it. Returns 0, -EINVAL (no signal,
// SIGKILL, SIGSTOP), -EBUSY (open already), -EMFILE, -ENFILE.
int hrt_signal_open(int signal, int *_Nonnull out_fd);

// Returns whether the calling thread blocks the signal. All threads may, in a process that was
// started with it blocked; then a thread that does not must wait for it, or it stays pending
// (signal(7)).
bool hrt_signal_is_blocked(int signal);

// Returns how many signals came since the last call. 0 if the signal is not open.
uint64_t hrt_signal_take(int signal);

// Stops the process by SIGSTOP, which cannot be blocked, and returns when the process continues.
// The SIGCONT that continued it is not counted, nor is any other SIGCONT during the call. Any
// thread; not from a signal handler.
void hrt_signal_stop_process(void);

// Restores the former handler and closes the descriptor. Not from a signal handler. A thread that
// was started to receive the signal must have ended: for the former handler no thread did.
void hrt_signal_close(int signal);

#ifdef __cplusplus
}
#endif

#endif

#ifndef HRT_SIGNAL_H
#define HRT_SIGNAL_H

#include <stdint.h>

// Counts signals of the process in eventfds, one for each signal, which a loop can watch. Any
// thread may call these functions.

// Replaces the process's handler for the signal, with SA_RESTART. Writes the descriptor, which is
// readable while signals are counted; hrt_signal_close closes it. If the calling thread blocks the
// signal, as all threads may in a process that was started with it blocked, an extra thread
// receives it until the signal is closed; no mask is changed. The extra thread works for signals to
// the process: a signal that is sent to a thread that blocks it stays pending there (signal(7)).
// Returns 0, -EINVAL (no signal, SIGKILL, SIGSTOP), -EBUSY (open already), -EMFILE, -ENFILE,
// -EAGAIN (no thread can be made).
int hrt_signal_open(int signal, int *_Nonnull out_fd);

// Returns how many signals came since the last call. 0 if the signal is not open.
uint64_t hrt_signal_take(int signal);

// Stops the process by SIGSTOP, which cannot be blocked, and returns when the process continues.
// The SIGCONT that continued it is not counted, nor is any other SIGCONT during the call. Any
// thread; not from a signal handler.
void hrt_signal_stop_process(void);

// Restores the former handler and closes the descriptor. Not from a signal handler.
void hrt_signal_close(int signal);

#endif

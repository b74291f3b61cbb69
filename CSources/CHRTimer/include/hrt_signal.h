#ifndef HRT_SIGNAL_H
#define HRT_SIGNAL_H

#include <stdint.h>

// Signals of the process as counts in an eventfd, one for each signal, to be watched by a loop. Any
// thread.

// Takes the place of the process's handler for the signal, with SA_RESTART. Writes the descriptor,
// readable while there are signals to take; it stays ours. Where the calling thread has the signal
// blocked, as all of a process may that was started so, a thread of ours lets it in until the
// signal is closed; no mask is changed. That is for signals to the process: one that is sent to a
// thread that blocks it waits there, as ever (signal(7)). 0, -EINVAL (no signal, SIGKILL, SIGSTOP),
// -EBUSY (open already), -EMFILE, -ENFILE, -EAGAIN (no room for the thread).
int hrt_signal_open(int signal, int *_Nonnull out_fd);

// How many came since the last call. 0 if the signal is not open.
uint64_t hrt_signal_take(int signal);

// Stops the process by SIGSTOP, which nothing can hold up, and returns when it goes on. The SIGCONT
// that made it go on is not counted, nor is one that comes during the call. Any thread; not from a
// signal handler.
void hrt_signal_stop_process(void);

// Puts the former handler back and closes the descriptor. Not from a signal handler.
void hrt_signal_close(int signal);

#endif

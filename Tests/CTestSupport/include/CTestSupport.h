// SPDX-License-Identifier: Apache-2.0
#ifndef CTESTSUPPORT_H
#define CTESTSUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "ctest_event_base.h"
#include "ctest_queue.h"
#include "ctest_replay.h"

// Counts the system calls of one thread from outside, for tests that pin "one wait per fire, and
// nothing else".

enum {
    CTEST_SYSCALLS = 1024,
    CTEST_FUTEX = SYS_futex,
    CTEST_TIMERFD_SETTIME = SYS_timerfd_settime,
};

// A child process that traces one thread of this process by ptrace(2).
typedef struct ctest_trace ctest_trace;

// Begins to count the thread's system calls. Returns 0 or a negative errno: -EPERM where tracing is
// forbidden, -ENOMEM.
int ctest_trace_begin(int32_t tid, ctest_trace *_Nullable *_Nonnull out_trace);

// Writes how often the thread has entered each system call since, by number. Exact if called on the
// thread itself.
void ctest_trace_counts(const ctest_trace *_Nonnull trace,
                        uint32_t counts[_Nonnull CTEST_SYSCALLS]);

void ctest_trace_end(ctest_trace *_Nonnull trace);

// A timer_t.
typedef uint64_t ctest_storm;

// Sends SIGALRM to the calling thread at this interval, to a handler without SA_RESTART, and
// unblocks the signal. Returns 0 or a negative errno.
int ctest_storm_begin(int64_t interval_us, ctest_storm *_Nonnull out_storm);

// Ends the storm. Returns the number of signals that came. Any thread.
uint64_t ctest_storm_end(ctest_storm storm);

// After `after_ns` a signal's handler keeps the calling thread asleep for `for_ns`, once. Both must
// be less than a second. Returns 0 or a negative errno. One thread at a time.
int ctest_interrupt_once(int64_t after_ns, int64_t for_ns);

// Writes when that handler began and ended, on CLOCK_MONOTONIC; 0 if it has not run, and then it
// does not run any more.
void ctest_interruption_end(int64_t *_Nonnull out_begun_ns, int64_t *_Nonnull out_ended_ns);

// Runs `body` in a child of fork(2), which Swift cannot call, and ends the child with _exit(2).
// `text` receives what the child writes to the descriptor, and has room for `size` bytes with the
// final 0. Returns 0; -ETIMEDOUT if the child writes nothing for timeout_ms: the child is then
// killed, and `text` keeps what came before; -ECHILD if it ended otherwise; or why there is no
// child.
int ctest_in_child(void (*_Nonnull body)(void *_Nullable context, int fd), void *_Nullable context,
                   int32_t timeout_ms, char *_Nonnull text, size_t size);

// Writes a line to the descriptor. Called in the child.
void ctest_say(int fd, const char *_Nonnull word);

// From now on and for good the kernel refuses a system call to the calling thread and its children
// with this errno, as the filters of containers do (seccomp(2)). It refuses the call of that name,
// and those that libraries use in its place. Returns 0 or a negative errno; -EINVAL for an unknown
// name.
int ctest_refuse(const char *_Nonnull name, int32_t error);

// Install filters for all threads of the process. The first refuses, with EPERM, the calls that
// Docker's usual profile refuses; the second, with ENOSYS, those that an emulated kernel may lack
// (TFD_IOC_SET_TICKS of timerfds, with ENOTTY). Return 0 or a negative errno.
int ctest_refuse_as_docker(void);
int ctest_lack_calls(void);

// The scheduling policy and parameters of a thread, see sched_getattr(2).
typedef struct {
    uint32_t policy;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
} ctest_schedule;

// Reads the calling thread's scheduling. Returns 0 or a negative errno.
int ctest_thread_schedule(ctest_schedule *_Nonnull out_schedule);
// Likewise of a thread that the calling one starts with pthread_create(3), and of a child of
// fork(2).
int ctest_thread_schedule_of_thread(ctest_schedule *_Nonnull out_schedule);
int ctest_thread_schedule_of_child(ctest_schedule *_Nonnull out_schedule);

// Begins to count fires, all of which must be on one thread. Call it before the first of them.
void ctest_begin_fires(void);
// Notes one fire, from its handler.
void ctest_note_fire(void);
// Returns how many references the process retained from the 10th fire to the 110th; -1 before that.
int64_t ctest_references_of_fires(void);

// Has malloc give back the free memory that it keeps, with malloc_trim(3).
void ctest_give_memory_back(void);

// Returns the bytes that malloc(3) has for the object: the size requested, rounded up by malloc.
size_t ctest_heap_bytes(void *_Nonnull object);

// Returns the bytes of all objects that malloc(3) has given out: mallinfo(3). Modulo 4 GB with a
// glibc older than 2.33.
size_t ctest_heap_used(void);

#endif

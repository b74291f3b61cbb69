#ifndef CTESTSUPPORT_H
#define CTESTSUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "ctest_event_base.h"
#include "ctest_queue.h"

// What one thread asks of the system, counted from outside: for tests that pin "one wait a fire,
// and nothing else".

enum {
    CTEST_SYSCALLS = 1024,
    CTEST_FUTEX = SYS_futex,
    CTEST_TIMERFD_SETTIME = SYS_timerfd_settime,
};

// A child process that traces one thread of this process by ptrace(2).
typedef struct ctest_trace ctest_trace;

// Begins to count the system calls of the thread. 0, or a negative errno: -EPERM where tracing is
// forbidden, -ENOMEM.
int ctest_trace_begin(int32_t tid, ctest_trace *_Nullable *_Nonnull out_trace);

// How often the thread has entered each system call since, by number. Exact if asked on that thread
// itself.
void ctest_trace_counts(const ctest_trace *_Nonnull trace,
                        uint32_t counts[_Nonnull CTEST_SYSCALLS]);

void ctest_trace_end(ctest_trace *_Nonnull trace);

// A timer_t.
typedef uint64_t ctest_storm;

// Sends SIGALRM to the calling thread so often, to a handler without SA_RESTART, and lets it in. 0
// or a negative errno.
int ctest_storm_begin(int64_t interval_us, ctest_storm *_Nonnull out_storm);

// Ends it. How many signals came. Any thread.
uint64_t ctest_storm_end(ctest_storm storm);

// After `after_ns` a signal's handler keeps the calling thread asleep for `for_ns`, once; both are
// less than a second. 0 or a negative errno. One thread at a time.
int ctest_interrupt_once(int64_t after_ns, int64_t for_ns);

// When that was, on CLOCK_MONOTONIC; 0 if it has not come, and then it does not come any more.
void ctest_interruption_end(int64_t *_Nonnull out_begun_ns, int64_t *_Nonnull out_ended_ns);

// Runs `body` in a child of fork(2), which Swift cannot call, and ends the child with _exit(2).
// What the child says to the descriptor comes in `text`, which has room for `size` bytes with the 0
// at its end. 0; -ETIMEDOUT if the child says nothing for so long, which ends it too, and what it
// said before is kept; -ECHILD if it ended otherwise; or why there is none.
int ctest_in_child(void (*_Nonnull body)(void *_Nullable context, int fd), void *_Nullable context,
                   int32_t timeout_ms, char *_Nonnull text, size_t size);

// Writes a line. In the child.
void ctest_say(int fd, const char *_Nonnull word);

// From now on and for good the kernel refuses a system call to the calling thread and to its
// children with this errno, as the filters of containers do (seccomp(2)): the one of that name, and
// those that libraries take in its place. 0 or a negative errno; -EINVAL for a name that it does
// not know.
int ctest_refuse(const char *_Nonnull name, int32_t error);

// Filters for all threads of the process: what Docker's usual profile refuses, with EPERM, and what
// an emulated kernel may lack, with ENOSYS (TFD_IOC_SET_TICKS of timerfds with ENOTTY). 0 or a
// negative errno.
int ctest_refuse_as_docker(void);
int ctest_lack_calls(void);

// How the kernel chooses when the calling thread runs, sched_getattr(2).
typedef struct {
    uint32_t policy;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
} ctest_schedule;

// 0 or a negative errno.
int ctest_thread_schedule(ctest_schedule *_Nonnull out_schedule);

// What the thread of an engine, and of a loop, fetches of the sections of hrt_hot.h when it wakes;
// and whether the queue's functions are among it.
size_t ctest_hot_engine_bytes(void);
size_t ctest_hot_loop_bytes(void);
bool ctest_hot_has_queue(void);

// What the calling thread's latest fire noted, of an hrt_touched_kind.
const void *_Nullable ctest_touched(int kind);

// Has malloc give back what it keeps for later. malloc_trim(3)
void ctest_give_memory_back(void);

// What malloc(3) has for the object: what was asked for and what it rounds that up to.
size_t ctest_heap_bytes(void *_Nonnull object);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_THREAD_H
#define HRT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// Every function here applies to the calling thread alone.

// The processors, the timer slack and the slice that a thread had before it first called one of the
// functions below that set these. The kernel lets its threads and children inherit the present ones
// instead (sched_setaffinity(2), PR_SET_TIMERSLACK(2const)).
// A child of fork(2) gets back the former ones by itself, in a handler of pthread_atfork(3), and so
// does each thread that this library starts, by the two functions below. For threads that others
// start, and for vfork, posix_spawn, _Fork and clone, there is no hook.
typedef struct hrt_thread_origin hrt_thread_origin;

// Returns what the calling thread had, for a thread that it starts; NULL if it has changed nothing,
// or without memory. The caller passes it to hrt_thread_adopt in that thread, or to free(3).
hrt_thread_origin *_Nullable hrt_thread_origin_copy(void);

// Gives the calling thread these processors, this slack and this slice, and frees the origin. NULL
// changes nothing.
void hrt_thread_adopt(hrt_thread_origin *_Nullable origin);

// Sets how late the kernel may wake this thread in order to merge the wake-up with others; 50,000
// ns by default. Range 1 ... LONG_MAX, because 0 would mean "back to the default"
// (PR_SET_TIMERSLACK(2const)). Returns 0 or -EINVAL.
int hrt_thread_set_timer_slack_ns(uint64_t slack_ns);
uint64_t hrt_thread_timer_slack_ns(void);

// Sets the thread's name. At most 15 bytes are kept; the rest is cut (pthread_setname_np(3)).
void hrt_thread_set_name(const char *_Nonnull name);

// Restricts the thread to the processors with these numbers. Returns 0, -ENOMEM, or -EINVAL if a
// number is beyond the kernel's bound or if none of the processors is online and allowed.
// sched_setaffinity(2).
int hrt_thread_set_processors(const uint32_t *_Nonnull processors, size_t count);

// How the kernel schedules the thread, sched(7). `policy` is SCHED_OTHER, SCHED_FIFO, SCHED_RR or
// SCHED_DEADLINE; `nice` applies to SCHED_OTHER, which keeps the thread's slice, `priority` to
// SCHED_FIFO and SCHED_RR, the three times to SCHED_DEADLINE.
typedef struct {
    uint32_t policy;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
} hrt_schedule;

// Sets the schedule. Threads that this thread starts do not inherit it (SCHED_FLAG_RESET_ON_FORK).
// Returns 0, or a negative errno of sched_setattr(2): -EPERM, -EACCES, -EINVAL, -EBUSY (no room for
// one more SCHED_DEADLINE thread).
int hrt_thread_set_schedule(const hrt_schedule *_Nonnull schedule);

// How long the kernel lets the thread compute before others get their turn, and with that how soon
// it is run once it wakes: the virtual deadline of a thread with a short slice is near
// (Documentation/scheduler/sched-eevdf.rst).
#define HRT_LEAST_SLICE_NS 100000
#define HRT_MOST_SLICE_NS 100000000

// Sets the thread's slice, in HRT_LEAST_SLICE_NS ... HRT_MOST_SLICE_NS; its class and nice value
// stay. With `resets_on_fork` threads and children that it starts have the default slice unless its
// nice value is negative, which they would lose with it (SCHED_FLAG_RESET_ON_FORK); and without
// CAP_SYS_NICE the flag cannot be taken back, nor the class be set without it. So it is for this
// library's own threads. Real-time threads have no slice: returns 0 for them. Otherwise 0, -EINVAL,
// -ENOTSUP before Linux 6.12, or a negative errno of sched_setattr(2), which a sandbox may refuse.
int hrt_thread_set_slice_ns(uint64_t slice_ns, bool resets_on_fork);

// Returns the thread's slice; 0 for a real-time thread, and before Linux 6.12.
uint64_t hrt_thread_slice_ns(void);

// Returns a pointer that identifies this thread: the start of its thread-local storage. Only for
// comparison, and only as long as the thread exists. It is a register, whereas pthread_self(3) is a
// call into the C library.
static inline const void *_Nonnull hrt_thread_pointer(void) { return __builtin_thread_pointer(); }

// Returns the kernel's id of this thread, gettid(2).
int32_t hrt_thread_id(void);

#ifdef __cplusplus
}
#endif

#endif

#ifndef HRT_THREAD_H
#define HRT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Settings of the calling thread alone.

// How late the kernel may make a wake-up of this thread to merge it with others; 50,000 ns by
// default. Range 1 ... LONG_MAX, as 0 would mean "back to the default" (PR_SET_TIMERSLACK(2const)).
// Returns 0 or -EINVAL.
int hrt_thread_set_timer_slack_ns(uint64_t slack_ns);
uint64_t hrt_thread_timer_slack_ns(void);

// At most 15 bytes are kept, the rest is cut (pthread_setname_np(3)).
void hrt_thread_set_name(const char *_Nonnull name);

// Restricts the thread to the processors with these numbers. 0, -ENOMEM, or -EINVAL if a number is
// beyond the kernel's bound or if none of them is online and allowed. sched_setaffinity(2).
int hrt_thread_set_processors(const uint32_t *_Nonnull processors, size_t count);

// How the kernel schedules the thread, sched(7). `policy` is SCHED_OTHER, SCHED_FIFO, SCHED_RR or
// SCHED_DEADLINE; `nice` counts for the first, `priority` for the next two, the times for the last.
typedef struct {
    uint32_t policy;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
} hrt_schedule;

// Threads that this one starts do not inherit it (SCHED_FLAG_RESET_ON_FORK). 0, or a negative errno
// of sched_setattr(2): -EPERM, -EACCES, -EINVAL, -EBUSY (no room for one more deadline).
int hrt_thread_set_schedule(const hrt_schedule *_Nonnull schedule);

// Which thread this is, to be compared alone, as long as the thread is there: where its
// thread-local storage begins. A register, where pthread_self(3) is a call into the C library.
static inline const void *_Nonnull hrt_thread_pointer(void) { return __builtin_thread_pointer(); }

// The kernel's id of this thread, gettid(2).
int32_t hrt_thread_id(void);

#endif

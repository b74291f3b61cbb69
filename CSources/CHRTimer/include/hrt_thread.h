#ifndef HRT_THREAD_H
#define HRT_THREAD_H

#include <stdbool.h>
#include <stdint.h>

// Settings of the calling thread, and of no other.

// How late the kernel may make a wake-up of this thread so as to merge it with others; 50,000 ns by default.
// 1 is the least: 0 would mean "back to the default" (PR_SET_TIMERSLACK(2const)). Range 1 ... LONG_MAX. 0 or -EINVAL.
int hrt_thread_set_timer_slack_ns(uint64_t slack_ns);
uint64_t hrt_thread_timer_slack_ns(void);

// At most 15 bytes are kept, the rest is cut (pthread_setname_np(3)).
void hrt_thread_set_name(const char *_Nonnull name);

// Restricts the thread to the processors whose bits are set in the mask (processors 0 ... 63). 0, or -EINVAL if none of
// them is online or allowed.
int hrt_thread_set_affinity(uint64_t cpu_mask);
uint64_t hrt_thread_affinity(void);

// The kernel's id of this thread, gettid(2).
int32_t hrt_thread_id(void);

#endif

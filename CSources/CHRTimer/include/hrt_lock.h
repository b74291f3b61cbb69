// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_LOCK_H
#define HRT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// A lock of one word for short critical sections, built on futex(2). Like a default
// pthread_mutex_t, it is not recursive, not fair, and without priority inheritance. A zero word is
// a free lock; a lock need not be destroyed. Thread Sanitizer understands its synchronization.
//
// A thread that held the lock at fork(2) does not exist in the child. The word contains the
// generation (hrt_fork.h) in which the lock was taken, so that a thread of the child can take the
// lock over from the missing holder, once. The guarded data may then be half changed. A thread that
// holds a lock and forks must not release it in the child.
typedef struct {
    uint32_t word;
} hrt_lock;

// Acquires the lock. Spins for a microsecond or two before it sleeps. Any thread.
void hrt_lock_acquire(hrt_lock *_Nonnull lock);

// Releases the lock. Must be called by the thread that holds it.
void hrt_lock_release(hrt_lock *_Nonnull lock);

// Returns true in a child of fork(2) if a thread that does not exist in the child held the lock at
// the fork, and no thread has taken the lock since. Any thread.
bool hrt_lock_is_abandoned(const hrt_lock *_Nonnull lock);

// Returns how many locks the calling thread has taken so far. Compiled only with HRT_CHECKING, as
// tests are.
uint64_t hrt_lock_taken_by_thread(void);

#ifdef __cplusplus
}
#endif

#endif

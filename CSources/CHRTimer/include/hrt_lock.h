#ifndef HRT_LOCK_H
#define HRT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

// A lock of one word for short critical sections, upon futex(2): not recursive, not fair, without
// priority inheritance, as a default pthread_mutex_t. Zero is free; it needs no destroying. Thread
// Sanitizer sees through it.
//
// A thread that held it at fork(2) does not exist in the child. The word has the generation
// (hrt_fork.h) in which it was taken, so that a thread of the child takes it over from the missing
// holder, once. The guarded data may then be half changed. A thread that holds a lock and forks
// must not release it in the child.
typedef struct {
    uint32_t word;
} hrt_lock;

// Any thread. Spins for a microsecond or two before it sleeps.
void hrt_lock_acquire(hrt_lock *_Nonnull lock);

// By the thread that holds it.
void hrt_lock_release(hrt_lock *_Nonnull lock);

// True in a child of fork(2) if a thread that the child does not have held the lock at the fork,
// and no thread has taken it since. Any thread.
bool hrt_lock_is_abandoned(const hrt_lock *_Nonnull lock);

// How many locks the calling thread has taken so far. Compiled with HRT_CHECKING alone, as tests
// are.
uint64_t hrt_lock_taken_by_thread(void);

#endif

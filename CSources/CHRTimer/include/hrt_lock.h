#ifndef HRT_LOCK_H
#define HRT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

// A lock of one word for short critical sections, upon futex(2): not recursive, not fair, without
// priority inheritance, as a default pthread_mutex_t. Zero is free; it needs no destroying. Thread
// Sanitizer sees through it.
//
// A thread that held it at fork(2) is not there in the child: the word says in which generation
// (hrt_fork.h) it was taken, and a thread that wants it in the child takes it from the vanished
// holder, once. What it guards may then be half changed. No thread may fork with a lock held and
// let go in the child.
typedef struct {
    uint32_t word;
} hrt_lock;

// Any thread. Looks for a microsecond or two before it sleeps.
void hrt_lock_acquire(hrt_lock *_Nonnull lock);

// The thread that has it.
void hrt_lock_release(hrt_lock *_Nonnull lock);

// True in a child of fork(2) if a thread that is not there held the lock then, and nobody has taken
// it since. Any thread.
bool hrt_lock_is_abandoned(const hrt_lock *_Nonnull lock);

// How many locks the calling thread has taken so far. Compiled with HRT_CHECKING alone, as tests
// are.
uint64_t hrt_lock_taken_by_thread(void);

#endif

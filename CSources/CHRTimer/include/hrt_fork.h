#ifndef HRT_FORK_H
#define HRT_FORK_H

#include <stdint.h>

// How many forks lie between this process and the one that loaded this library. Read it by
// hrt_fork_generation alone.
extern uint32_t hrt_fork_count;

// A number that differs between a child of fork(2) and its parent: an object made in another
// generation has no threads in this process. Wraps after 2^32 nested forks. Any thread;
// async-signal-safe; one load.
//
// Counted by a child handler of pthread_atfork(3), registered when the library is loaded: handlers
// that the program registers see the new number. vfork, posix_spawn, _Fork and clone run no such
// handlers: between them and exec nothing of this library may be called.
static inline uint32_t hrt_fork_generation(void) {
    return __atomic_load_n(&hrt_fork_count, __ATOMIC_RELAXED);
}

#endif

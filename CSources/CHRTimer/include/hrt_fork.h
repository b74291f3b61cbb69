// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_FORK_H
#define HRT_FORK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// How many forks lie between this process and the one that loaded this library. Read it only
// through hrt_fork_generation.
extern uint32_t hrt_fork_count;

// Returns a number that differs between a child of fork(2) and its parent: an object made in
// another generation has no threads in this process. Wraps after 2^32 nested forks. Any thread;
// async-signal-safe; one load.
//
// A child handler of pthread_atfork(3) does the counting. It is registered when the library is
// loaded, so that handlers which the program registers see the new number. vfork, posix_spawn,
// _Fork and clone run no such handlers: between them and exec no function of this library may be
// called.
static inline uint32_t hrt_fork_generation(void) {
    return __atomic_load_n(&hrt_fork_count, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif

#endif

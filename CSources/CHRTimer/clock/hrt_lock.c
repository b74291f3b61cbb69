// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
// Drepper's mutex ("Futexes Are Tricky", 2011) with a generation in its word.
#include "../include/hrt_lock.h"

#include "hrt_futex.h"
#include "hrt_spin.h"
#include "../include/hrt_fork.h"

// The word is 0, or the generation above two flag bits.
enum { IS_HELD = 1, HAS_WAITERS = 2, GENERATION_SHIFT = 2 };

// A critical section takes less time than putting a waiting thread to sleep and waking it, so a
// thread spins first. Each read of the word takes its cache line from the holder, which needs the
// line to release the lock, and each change of holder moves the guarded data to another processor:
// so a waiter looks seldom, at these times after it came, and then sleeps. Meanwhile the holder
// takes the lock again and again, at the speed of a thread that is alone. They are times and not
// numbers of pauses: PAUSE takes some 10 cycles before Skylake and up to 140 since (Intel's
// optimization manual). Contended arming with these and with 16, 32 and 64 pauses in their place:
// Benchmarks/Measured/contended-*.json.
static const int64_t looks_ns[] = {500, 2000};

static inline _Atomic uint32_t *word_of(hrt_lock *lock) { return (_Atomic uint32_t *)&lock->word; }

static inline uint32_t held_now(void) {
    return hrt_fork_generation() << GENERATION_SHIFT | IS_HELD;
}

static inline bool exchange(_Atomic uint32_t *word, uint32_t *seen, uint32_t wanted) {
    return atomic_compare_exchange_strong_explicit(word, seen, wanted, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline bool is_of_another_process(uint32_t word, uint32_t held) {
    return word != 0 && (word | HAS_WAITERS) != (held | HAS_WAITERS);
}

// Takes the lock if it is free, or if it is held by a thread that does not exist in this forked
// child.
static inline bool try(_Atomic uint32_t *word, uint32_t *seen, uint32_t held, uint32_t wanted) {
    if (*seen != 0 && !is_of_another_process(*seen, held)) return false;
    return exchange(word, seen, wanted);
}

// Pauses until the clock reads until_ns.
static void pause_until(int64_t until_ns) {
    do hrt_pause();
    while (hrt_clock_now_ns(HRT_CLOCK_MONOTONIC) < until_ns);
}

__attribute__((noinline)) static void acquire_late(_Atomic uint32_t *word, uint32_t held) {
    uint32_t seen = 0;
    int64_t came_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
    for (size_t look = 0; look < sizeof looks_ns / sizeof *looks_ns; look++) {
        pause_until(came_ns + looks_ns[look]);
        seen = atomic_load_explicit(word, memory_order_relaxed);
        if (try(word, &seen, held, held)) return;
        if ((seen & HAS_WAITERS) != 0) break;
    }
    seen = atomic_load_explicit(word, memory_order_relaxed);
    // HAS_WAITERS is set, because other threads may sleep: that causes at most one needless wake.
    while (!try(word, &seen, held, held | HAS_WAITERS)) {
        if (seen == 0 || is_of_another_process(seen, held)) continue;  // it changed in between
        if ((seen & HAS_WAITERS) != 0 || exchange(word, &seen, held | HAS_WAITERS)) {
            hrt_futex_wait(word, held | HAS_WAITERS);
            seen = atomic_load_explicit(word, memory_order_relaxed);
        }
    }
}

#ifdef HRT_CHECKING
static _Thread_local uint64_t taken_by_thread;

uint64_t hrt_lock_taken_by_thread(void) { return taken_by_thread; }
#endif

void hrt_lock_acquire(hrt_lock *lock) {
#ifdef HRT_CHECKING
    taken_by_thread++;
#endif
    uint32_t free = 0, held = held_now();
    if (!exchange(word_of(lock), &free, held)) acquire_late(word_of(lock), held);
}

void hrt_lock_release(hrt_lock *lock) {
    uint32_t before = atomic_exchange_explicit(word_of(lock), 0, memory_order_release);
    if ((before & HAS_WAITERS) != 0) hrt_futex_wake(word_of(lock));
}

bool hrt_lock_is_abandoned(const hrt_lock *lock) {
    uint32_t word = atomic_load_explicit(word_of((hrt_lock *)lock), memory_order_relaxed);
    return is_of_another_process(word, held_now());
}
#endif

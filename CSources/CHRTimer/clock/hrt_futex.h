#ifndef HRT_FUTEX_H
#define HRT_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../include/hrt_clock.h"

// Sleeps while the word is 0, until the clock, which is not HRT_CLOCK_BOOT, reaches the deadline
// (true), or until the word is woken or spuriously (false). futex(2), FUTEX_WAIT_BITSET.
bool hrt_futex_sleep(const _Atomic uint32_t *word, hrt_clock clock, int64_t deadline_ns);

// 0, or the negative errno with which the kernel refuses sleeps on that clock.
int hrt_futex_probe(hrt_clock clock);

// Sleeps while the word is `expected`, until it is woken, or spuriously.
void hrt_futex_wait(const _Atomic uint32_t *word, uint32_t expected);

// Wakes one thread, or all, that sleep on the word; the caller has set it. The word is not read, as
// its memory may be freed by now. Any thread; async-signal-safe.
void hrt_futex_wake(_Atomic uint32_t *word);
void hrt_futex_wake_all(_Atomic uint32_t *word);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_FUTEX_H
#define HRT_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>

#include "../include/hrt_clock.h"

// Sleeps while the word is 0. Returns true when the clock, which must not be HRT_CLOCK_BOOT,
// reaches the deadline; returns false when the word is woken, or spuriously. futex(2),
// FUTEX_WAIT_BITSET.
bool hrt_futex_sleep(const _Atomic uint32_t *word, hrt_clock clock, int64_t deadline_ns);

// Returns 0, or the negative errno with which the kernel refuses sleeps on that clock.
int hrt_futex_probe(hrt_clock clock);

// Sleeps while the word is `expected`, until it is woken. May also return spuriously.
void hrt_futex_wait(const _Atomic uint32_t *word, uint32_t expected);

// Wake one thread, or all threads, that sleep on the word; the caller has set it. They do not read
// the word, because its memory may be freed by now. Any thread; async-signal-safe.
void hrt_futex_wake(_Atomic uint32_t *word);
void hrt_futex_wake_all(_Atomic uint32_t *word);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_LATCH_H
#define HRT_LATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// An event that occurs once, for which any number of threads can wait: futex(2), no descriptor. A
// zero word is a closed latch. A latch need not be destroyed, but no thread may be inside a call
// when its memory is freed. Writes before the opening are visible after a wait.
typedef struct {
    uint32_t word;
} hrt_latch;

// Opens the latch for good. Idempotent. Any thread; async-signal-safe. Makes a system call only if
// a thread waits.
void hrt_latch_open(hrt_latch *_Nonnull latch);

// Returns whether the latch is open. Any thread.
bool hrt_latch_is_open(const hrt_latch *_Nonnull latch);

// Blocks until the latch is open. Any thread.
void hrt_latch_wait(hrt_latch *_Nonnull latch);

#ifdef __cplusplus
}
#endif

#endif

#ifndef HRT_LATCH_H
#define HRT_LATCH_H

#include <stdbool.h>
#include <stdint.h>

// Something that comes once, for which any number of threads wait: futex(2), no descriptor. Zero
// has not come; it needs no destroying, but nobody may be inside a call when its memory goes. What
// was written before it came is seen after a wait.
typedef struct {
    uint32_t word;
} hrt_latch;

// It has come, for good. Idempotent. Any thread; async-signal-safe. Makes a system call only if
// somebody waits.
void hrt_latch_open(hrt_latch *_Nonnull latch);

// Any thread.
bool hrt_latch_is_open(const hrt_latch *_Nonnull latch);

// Blocks until it has come. Any thread.
void hrt_latch_wait(hrt_latch *_Nonnull latch);

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef CBENCH_WHY_H
#define CBENCH_WHY_H

#include <stddef.h>
#include <stdint.h>

#include "hrt_thread_counts.h"

// The kernel's counts for the thread of a fire, right after this fire and after the previous one on
// the same thread. They show what made the fire late, for any kind of timer.
typedef struct {
    int64_t deadline_ns;
    int64_t woke_ns;
    int64_t before_ns;  // end of the previous reading; -1 for the first fire of this thread
    int32_t thread;
    hrt_thread_counts before;
    hrt_thread_counts after;
} cbench_why_fire;

// Starts recording the fires of blocks, up to `capacity`. The memory must remain until
// cbench_why_stop.
void cbench_why_start(cbench_why_fire *_Nonnull fires, size_t capacity);

// Stops recording, and returns the number of recorded fires. Does not wait for a fire in progress.
size_t cbench_why_stop(void);

// Records one fire, on its thread. Does nothing if recording is off: then it is inline, so that it
// is no page of code more in each fire.
void cbench_why_note_counts(int64_t deadline_ns, int64_t woke_ns);
extern cbench_why_fire *_Nullable cbench_why_room;  // atomic
static inline void cbench_why_note(int64_t deadline_ns, int64_t woke_ns) {
    if (__atomic_load_n(&cbench_why_room, __ATOMIC_ACQUIRE))
        cbench_why_note_counts(deadline_ns, woke_ns);
}

#endif

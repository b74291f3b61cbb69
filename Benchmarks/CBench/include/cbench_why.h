#ifndef CBENCH_WHY_H
#define CBENCH_WHY_H

#include <stddef.h>
#include <stdint.h>

#include "hrt_thread_counts.h"

// What the kernel had counted of the thread of a fire, right after it and after the one before on
// the same thread: whoever fires, from that follows what made it late.
typedef struct {
    int64_t deadline_ns;
    int64_t woke_ns;
    int64_t before_ns;  // the end of the reading before; -1 if this thread has fired nothing before
    int32_t thread;
    hrt_thread_counts before;
    hrt_thread_counts after;
} cbench_why_fire;

// From now on fires of blocks are noted, up to so many. The room must stay until cbench_why_stop.
void cbench_why_start(cbench_why_fire *_Nonnull fires, size_t capacity);

// Gives how many were noted, when none is any more.
size_t cbench_why_stop(void);

// One fire, on its thread. Nothing where nobody asked.
void cbench_why_note(int64_t deadline_ns, int64_t woke_ns);

#endif

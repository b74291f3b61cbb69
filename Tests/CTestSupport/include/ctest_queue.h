#ifndef CTEST_QUEUE_H
#define CTEST_QUEUE_H

#include "hrt_queue.h"

// A look into the queue of the C core, by its own headers.

// Checks every invariant of the structure and aborts with a sentence about the one that does not
// hold. Files what is only listed to be filed. O(timers).
void ctest_queue_check(hrt_queue *queue);

// The timer's deadline; HRT_NEVER if it is not armed, or if the token is stale.
int64_t ctest_queue_deadline_ns(const hrt_queue *queue, hrt_token token);

#endif

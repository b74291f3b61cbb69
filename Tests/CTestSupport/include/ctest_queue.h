// SPDX-License-Identifier: Apache-2.0
#ifndef CTEST_QUEUE_H
#define CTEST_QUEUE_H

#include "hrt_queue.h"

// Access to the inside of the C core's queue, by its own headers.

// Checks every invariant of the structure, and aborts with a sentence about the first that does not
// hold. O(timers).
void ctest_queue_check(hrt_queue *queue);

// Returns the timer's deadline; HRT_NEVER if it is not armed, or if the token is stale.
int64_t ctest_queue_deadline_ns(const hrt_queue *queue, hrt_token token);

#endif

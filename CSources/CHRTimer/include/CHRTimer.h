// SPDX-License-Identifier: Apache-2.0
#ifndef CHRTIMER_H
#define CHRTIMER_H

// CHRTimer: the C core of swift-hrtimer. The contract of every function in these headers:
//
// * A name ends with its unit: deadline_ns is in nanoseconds. Deadlines are absolute, on the clock
//   that is named beside them. HRT_NEVER (INT64_MAX) means "no deadline". Any int64_t is accepted;
//   a deadline in the past means "now".
// * A function that can fail returns 0 or a negative errno, and writes its result through its last
//   parameter. errno itself is never part of the interface. An errno that only a bug of this
//   library can cause (EBADF, EFAULT, EINVAL on its own arguments) aborts with the operation's
//   name, see hrt_status.h.
// * A system call that a signal interrupts is repeated with the same absolute deadline, so that
//   signals neither shorten nor lengthen a wait.
// * The caller owns the object that a create function returns, until it calls the destroy function
//   of the same name.
// * No function is thread-safe unless its comment says so.
#include "hrt_clock.h"
#include "hrt_clock_set.h"
#include "hrt_fork.h"
#include "hrt_histogram.h"
#include "hrt_latch.h"
#include "hrt_lock.h"
#include "hrt_spin_budget.h"
#include "hrt_spin_window.h"
#include "hrt_nonblocking.h"
#include "hrt_probes.h"
#include "hrt_queue.h"
#include "hrt_realtime.h"
#include "hrt_recorder.h"
#include "hrt_spin_until.h"
#include "hrt_thread.h"
#include "hrt_thread_counts.h"
#include "hrt_wait.h"

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef CHRLOOP_H
#define CHRLOOP_H

// CHRLoop: a loop's wait for descriptors beside its deadlines, in libevent or epoll, and the loops
// of others that it can run on. Its functions keep the contract of CHRTimer.h, which it includes.
#include "CHRTimer.h"
#include "hrt_loop.h"
#include "hrt_main_queue.h"
#include "hrt_run_loop.h"
#include "hrt_signal.h"

#endif

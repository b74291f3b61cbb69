// SPDX-License-Identifier: Apache-2.0
#ifndef CREALTIMEKIT_H
#define CREALTIMEKIT_H

#include "CHRTimer.h"

#ifdef __cplusplus
extern "C" {
#endif

// Asks a service of the desktop to make the calling thread a real-time thread, which the kernel
// refuses to a process without rights. The service is RealtimeKit on the system bus, or the desktop
// portal on the session bus, which asks RealtimeKit from outside of a sandbox. libdbus is loaded
// for this, if there is one.

// Makes the calling thread a real-time thread. The services demand that no real-time thread of the
// process computes for longer than their limit (200 ms) without sleeping. So RLIMIT_RTTIME
// (getrlimit(2)) is lowered to that for the whole process, and stays so. If a thread computes for
// longer, SIGXCPU ends its process. Waits at most 2 s for each answer. The thread's class is
// SCHED_RR or SCHED_FIFO, as the service is configured, with SCHED_RESET_ON_FORK. Returns 0, or
// -EPERM if no service granted the request.
int crk_make_thread_realtime(uint32_t priority, hrt_realtime_answer *_Nonnull out_answer);

#ifdef __cplusplus
}
#endif

#endif

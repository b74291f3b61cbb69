// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_REALTIME_H
#define HRT_REALTIME_H

#include <stdint.h>

#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// A service of the desktop that makes a thread a real-time thread, which the kernel refuses to a
// process without rights.
typedef enum { HRT_NO_SERVICE, HRT_REALTIMEKIT, HRT_PORTAL } hrt_realtime_service;

typedef struct {
    hrt_realtime_service service;  // the service that granted it
    uint32_t priority;             // may be less than was requested
    char why[240];                 // why not: a sentence for each service that was asked
} hrt_realtime_answer;

// Asks the services to make the calling thread a real-time thread: see crk_make_thread_realtime in
// CRealtimeKit.h. Returns 0; -EPERM if no service grants it, or in a program without CRealtimeKit.
int hrt_thread_ask_realtime(uint32_t priority, hrt_realtime_answer *_Nonnull out_answer);

#ifdef __cplusplus
}
#endif

#endif

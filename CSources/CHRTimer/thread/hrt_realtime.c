// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_realtime.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

// CRealtimeKit needs this target, and a program may do without CRealtimeKit: then it is NULL.
__attribute__((weak)) int crk_make_thread_realtime(uint32_t priority, hrt_realtime_answer *answer);

int hrt_thread_ask_realtime(uint32_t priority, hrt_realtime_answer *out_answer) {
    if (crk_make_thread_realtime != NULL) return crk_make_thread_realtime(priority, out_answer);
    *out_answer = (hrt_realtime_answer){.service = HRT_NO_SERVICE};
    snprintf(out_answer->why, sizeof out_answer->why,
             "no service was asked, as this program does not link HRTimer's CRealtimeKit");
    return -EPERM;
}
#endif

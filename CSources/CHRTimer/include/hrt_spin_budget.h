// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_SPIN_BUDGET_H
#define HRT_SPIN_BUDGET_H

#include <stdint.h>

#include "hrt_nonblocking.h"

#ifdef __cplusplus
extern "C" {
#endif

// How much processor time may be spun, as a share of one core. The share is kept over each second:
// unused time adds up for a tenth of a second and no longer, so that in any second at most 110 % of
// the share is spun.
//
// Any number of spin windows may spend from one budget, on any threads, without a lock.
typedef struct {
    double share;  // of one core, in [0, 1]; set before other threads use the budget
    // The instant by which all time spun so far will have been earned; atomic. A fire that spends s
    // moves it s / share ahead, and time passes it at its own pace: one number, and no lock.
    int64_t earned_by_ns;
} hrt_spin_budget;

// Initializes a full budget. A share out of range counts as the nearest bound, NaN as 0. now_ns is
// on CLOCK_MONOTONIC, as in all functions here.
void hrt_spin_budget_init(hrt_spin_budget *budget, double share, int64_t now_ns);

// Returns how long may be spun now, in ns: at most a tenth of a second's share; 0 or less if the
// budget is used up.
double hrt_spin_budget_left_ns(hrt_spin_budget *budget, int64_t now_ns) HRT_NONBLOCKING;

// Returns the most that a fire after a sleep of sleep_ns may expect to spin, in ns: the share of
// the sleep, and less if the budget is less than half full. So after too much spinning all windows
// become smaller, and no fire is left without one. In a process with several spenders this levels
// off at what each may have.
double hrt_spin_budget_expected_ns(hrt_spin_budget *budget, int64_t sleep_ns,
                                   int64_t now_ns) HRT_NONBLOCKING;

// Spends time that was spun, or is about to be. A value below 0 gives back time that was not spun
// after all. Any value is allowed: no call counts for more than a second.
void hrt_spin_budget_spend(hrt_spin_budget *budget, int64_t spun_ns) HRT_NONBLOCKING;

#ifdef __cplusplus
}
#endif

#endif

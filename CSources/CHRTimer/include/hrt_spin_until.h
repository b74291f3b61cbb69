// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_SPIN_UNTIL_H
#define HRT_SPIN_UNTIL_H

#include <stdint.h>

#include "hrt_clock.h"

#ifdef __cplusplus
extern "C" {
#endif

// Spins until deadline_ns: reads the clock repeatedly, with pauses between the readings until the
// last 500 ns. now_ns is the reading that the caller has just made; the spin begins there.
//
// Returns the last reading, which is deadline_ns or later, never early. It is less only if more
// than longest_ns is left: the deadline was too far from the start, or the clock was set back.
//
// Adds the processor time that this took to *spun_ns. The time between readings that lie 10 us or
// more apart does not count: in between the kernel or the host took the processor away, or the
// clock was set. Any values; any thread; no system call where the vDSO serves the clock.
int64_t hrt_spin_until(hrt_clock clock, int64_t deadline_ns, int64_t now_ns, int64_t longest_ns,
                       int64_t *spun_ns);

#ifdef __cplusplus
}
#endif

#endif

#ifndef HRT_SPIN_UNTIL_H
#define HRT_SPIN_UNTIL_H

#include <stdint.h>

#include "hrt_clock.h"

// Spins: reads the clock until deadline_ns, with pauses between the readings until the last 500 ns.
// now_ns is what the caller has just read; the spin begins there.
//
// Gives the last reading, which is deadline_ns or later, never early. It is less only where more
// than longest_ns is left: the deadline is too far from the outset, or the clock was set back.
//
// *spun_ns grows by the processor time that this took. Readings that lie 10 us or more apart do not
// count: in between the processor was taken away, by the kernel or the host, or the clock was set.
// Any values; any thread; no system call where the vDSO serves the clock.
int64_t hrt_spin_until(hrt_clock clock, int64_t deadline_ns, int64_t now_ns, int64_t longest_ns,
                       int64_t *spun_ns);

#endif

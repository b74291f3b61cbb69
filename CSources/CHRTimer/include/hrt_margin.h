#ifndef HRT_MARGIN_H
#define HRT_MARGIN_H

#include <stdint.h>

#include "hrt_nonblocking.h"

// How long before a deadline a thread must have itself woken so that spinning the rest makes it exact: a quantile of
// the wake latencies seen lately, bounded by a budget of processor time: where that is scarce, the margin that is
// expected to spin no more than there is. Told the time and the latencies; knows no clock.
//
// The quantile comes from a histogram whose old entries fade by 4 % with each new one. One stall of any length is one
// entry: it moves no quantile below 1 - 4 %. After a whole series of stalls their weight falls under a tenth within 57
// entries.
enum {
    // Sleeps of different length wake from different idle states: below 200 us, below 10 ms, and the rest, each apart.
    HRT_MARGIN_CLASSES = 3,
    // Eight to an octave from 256 ns to 16.8 ms: a margin is at most an eighth more than the quantile.
    HRT_MARGIN_BUCKETS = 128,
};

typedef struct {
    double quantile;             // in (0, 1)
    double budget;               // processor time for spinning, as a fraction of one core, in [0, 1]
    double allowance_ns;         // what may be spun now
    int64_t allowance_as_of_ns;  // up to when the allowance was added up
    int64_t last_latency_ns;     // of the wake recorded last; whoever takes it makes it -1
    struct {
        double total;
        double next_weight;
        double weights[HRT_MARGIN_BUCKETS];
    } classes[HRT_MARGIN_CLASSES];
} hrt_margin;

// Values out of range count as the nearest bound. One thread at a time uses a margin, as with all functions here.
void hrt_margin_init(hrt_margin *margin, double quantile, double budget, int64_t now_ns);

// Another budget from now on; as in hrt_margin_init.
void hrt_margin_set_budget(hrt_margin *margin, double budget);

// The margin for a sleep of about sleep_ns that begins now: 0 or more. Never more than the allowance.
int64_t hrt_margin_ns(hrt_margin *margin, int64_t sleep_ns, int64_t now_ns) HRT_NONBLOCKING;

// A sleep of sleep_ns ended latency_ns after the instant it was to end at.
void hrt_margin_record_wake(hrt_margin *margin, int64_t sleep_ns, int64_t latency_ns) HRT_NONBLOCKING;

// So much was spun.
void hrt_margin_record_spin(hrt_margin *margin, int64_t spun_ns) HRT_NONBLOCKING;

#endif

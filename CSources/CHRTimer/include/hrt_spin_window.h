#ifndef HRT_SPIN_WINDOW_H
#define HRT_SPIN_WINDOW_H

#include <stdint.h>

#include "hrt_nonblocking.h"

// How long before a deadline a thread must have itself woken so that spinning the rest makes it
// exact, learned from the wake latencies seen lately. It is given the time and the latencies, and
// knows no clock.
//
// The expected spin is bounded: the mean of the rest of the spin window that each of those
// latencies would leave:
//
// * The budget is a fraction of a core. While it is not used it adds up, for a tenth of a second at
//   most, and a fire may expect to spin a 96th of the sum. By default, 1.25 %, that is 13 us: what
//   one fire of a 1 kHz timer may, and not half of a wake-up's own cost. A scarce budget makes all
//   spin windows smaller instead of leaving some fires without.
// * Within that, the spin window is the requested quantile of the latencies. That is the minimum:
//   where a fire uses less than an eighth of the budget that its sleep adds, the spin window grows
//   until it does, or until 99 of 100 latencies are within it, or 13 us are expected to be spun. So
//   at the rates of frames, where a stall is seen and processor time is plenty, it covers more than
//   at 1 kHz.
//
// The latencies are a histogram whose old entries fade by 4 % with each new one. One stall of any
// length is one entry, whose weight in the expected spin is none. After a whole series of stalls
// their weight falls under a tenth within 57 entries. Five wakes like those that follow make a
// spin window for them.
enum {
    // Sleeps of different length wake from different idle states: below 200 us, below 3 ms, below
    // 50 ms (the rates of frames), and the rest, each apart. What is new begins with what its
    // neighbour has seen.
    HRT_SPIN_WINDOW_CLASSES = 4,
    // Eight to an octave from 256 ns to 16.8 ms: a spin window is at most an eighth more than the
    // quantile.
    HRT_SPIN_WINDOW_BUCKETS = 128,
};

typedef struct {
    double quantile;      // in (0, 1)
    double budget;        // processor time for spinning, as a fraction of one core, in [0, 1]
    double allowance_ns;  // what may be spun now
    int64_t allowance_as_of_ns;  // up to when the allowance was added up
    int64_t last_latency_ns;     // of the wake recorded last; -1 once it is taken
    struct {
        double total;
        double next_weight;
        double weights[HRT_SPIN_WINDOW_BUCKETS];
    } classes[HRT_SPIN_WINDOW_CLASSES];
} hrt_spin_window;

// Values out of range count as the nearest bound. One thread at a time uses a spin window, as with
// all functions here.
void hrt_spin_window_init(hrt_spin_window *window, double quantile, double budget, int64_t now_ns);

// Another budget from now on; as in hrt_spin_window_init.
void hrt_spin_window_set_budget(hrt_spin_window *window, double budget);

// The spin window for a sleep of about sleep_ns that begins now: 0 or more. Never more than the
// allowance.
int64_t hrt_spin_window_ns(hrt_spin_window *window, int64_t sleep_ns,
                           int64_t now_ns) HRT_NONBLOCKING;

// A sleep of sleep_ns ended latency_ns after the instant it was to end at.
void hrt_spin_window_record_wake(hrt_spin_window *window, int64_t sleep_ns,
                            int64_t latency_ns) HRT_NONBLOCKING;

// So much was spun, or is about to be.
void hrt_spin_window_record_spin(hrt_spin_window *window, int64_t spun_ns) HRT_NONBLOCKING;

// So much of what was recorded was not spun after all. The allowance has it back, up to its bound.
void hrt_spin_window_take_back_spin(hrt_spin_window *window, int64_t unspun_ns) HRT_NONBLOCKING;

#endif

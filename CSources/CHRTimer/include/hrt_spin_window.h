#ifndef HRT_SPIN_WINDOW_H
#define HRT_SPIN_WINDOW_H

#include <stdint.h>

#include "hrt_nonblocking.h"

// How long before a deadline a thread must wake so that it can spin until the deadline, learned
// from recent wake latencies. The caller passes in the time and the latencies; it reads no clock.
//
// The expected spin is the mean of the rest of the spin window that those latencies would leave. It
// is bounded:
//
// * The budget is a fraction of a core. While it is not used it adds up, for a tenth of a second at
//   most, and the expected spin of a fire is at most a 96th of the sum. With the default of 1.25 %
//   that is 13 us, as much as one fire of a 1 kHz timer may spin, and less than half of a wake-up's
//   own cost. A scarce budget makes all spin windows smaller instead of leaving some fires without.
// * Within that, the spin window is the requested quantile of the latencies. That is the minimum:
//   where a fire uses less than an eighth of the budget that its sleep adds, the spin window grows
//   until it does, until it covers 99 of 100 latencies, or until the expected spin is 13 us. So at
//   the rates of frames, where a stall is visible and processor time is plenty, it covers more than
//   at 1 kHz.
//
// The latencies are a histogram whose entries fade by 4 % with each new one. One stall of any
// length is one entry, which adds nothing to the expected spin. After a series of stalls their
// weight falls below a tenth within 57 entries. When wakes change, five of them make a spin window
// that fits.
enum {
    // Sleeps of different length wake from different idle states. So there are classes: below
    // 200 us, below 3 ms, below 50 ms (the rates of frames), and longer. A class without a wake
    // begins with the latencies of its neighbour.
    HRT_SPIN_WINDOW_CLASSES = 4,
    // Eight an octave, from 256 ns to 16.8 ms: a spin window is at most an eighth more than the
    // quantile.
    HRT_SPIN_WINDOW_BUCKETS = 128,
};

typedef struct {
    double quantile;      // in (0, 1)
    double budget;        // processor time for spinning, as a fraction of one core, in [0, 1]
    double allowance_ns;  // what may be spun now
    int64_t allowance_as_of_ns;  // when the allowance was last added up
    int64_t last_latency_ns;     // of the wake recorded last; -1 after a caller has read it
    struct {
        double total;
        double next_weight;
        double weights[HRT_SPIN_WINDOW_BUCKETS];
    } classes[HRT_SPIN_WINDOW_CLASSES];
} hrt_spin_window;

// Values out of range count as the nearest bound. One thread at a time uses a spin window, as with
// all functions here.
void hrt_spin_window_init(hrt_spin_window *window, double quantile, double budget, int64_t now_ns);

// Changes the budget, bounded as in hrt_spin_window_init.
void hrt_spin_window_set_budget(hrt_spin_window *window, double budget);

// The spin window for a sleep of about sleep_ns that begins now: 0 or more. Never more than the
// allowance.
int64_t hrt_spin_window_ns(hrt_spin_window *window, int64_t sleep_ns,
                           int64_t now_ns) HRT_NONBLOCKING;

// Records that a sleep of sleep_ns ended latency_ns after its instant.
void hrt_spin_window_record_wake(hrt_spin_window *window, int64_t sleep_ns,
                                 int64_t latency_ns) HRT_NONBLOCKING;

// Takes the time spun, or about to be spun, from the allowance.
void hrt_spin_window_record_spin(hrt_spin_window *window, int64_t spun_ns) HRT_NONBLOCKING;

// So much of what was recorded was not spun after all. The allowance has it back, up to its bound.
void hrt_spin_window_take_back_spin(hrt_spin_window *window, int64_t unspun_ns) HRT_NONBLOCKING;

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_SPIN_WINDOW_H
#define HRT_SPIN_WINDOW_H

#include <stdint.h>

#include "hrt_nonblocking.h"
#include "hrt_spin_budget.h"

#ifdef __cplusplus
extern "C" {
#endif

// How long before a deadline a thread must wake so that it can spin until the deadline. This is
// learned from recent wake latencies. The caller passes in the time and the latencies; a spin
// window reads no clock.
//
// Latencies are correlated: of two wakes in a row both are mostly early or both late ("Exactness
// against its cost" in RESULTS.md). So the next latency is predicted, by a moving mean in which
// each new latency counts a quarter. A histogram keeps the factors by which latencies differ from
// their predictions. The window is the prediction times a quantile of those factors.
//
// The expected spin of a window is the mean of the time that those latencies would leave of it. The
// window grows
//
// * until it covers the requested share of wakes, the coverage;
// * as long as a fire expects to spin no more than the budget gives for its sleep, and at most 250
//   us;
// * as long as that is worth it: at a coverage of 0.99, covering one fire of a hundred more may
//   cost every fire 4 us. Wakes that are late by milliseconds are left to be late.
//
// The window also includes the time that the thread itself needs from its wake to the begin of the
// spin. It is learned too: after milliseconds of idleness it is microseconds, because the thread's
// code and data are in no cache.
//
// After a long sleep a processor wakes late, and by very different times; after a short one it does
// not. So where it saves more spinning than a second wake costs, the thread first wakes some
// hundreds of microseconds early, and sleeps again ("Exactness against its cost", too).
//
// Entries fade by 1 % with each new one. A stall of any length is one entry, and moves the
// prediction by no more than 38 %.
//
// What becomes of recorded latencies of other machines with this, and with each of its constants
// halved and doubled: make replay.
enum {
    // Sleeps of different lengths wake from different idle states, so each class has its own
    // prediction: below 400 us, below 3 ms, below 50 ms (the rates of frames), and longer. A class
    // without a recorded wake uses the prediction of the nearest class that has one.
    HRT_SPIN_WINDOW_CLASSES = 4,
    // Sixteen buckets per octave, from 1/16 of the prediction to 64 times the prediction.
    HRT_SPIN_WINDOW_BUCKETS = 160,
    // No window is longer, whatever was learned: if more is left, the clock was set back, and the
    // thread sleeps again instead of spinning.
    HRT_SPIN_WINDOW_LONGEST_NS = 20 * 1000 * 1000,
};

// What keeps a window from being longer.
typedef enum {
    // It covers the requested coverage, or all that is worth it.
    HRT_SPIN_LIMIT_COVERAGE,
    HRT_SPIN_LIMIT_BUDGET,
    // 250 us of expected spin, or HRT_SPIN_WINDOW_LONGEST_NS.
    HRT_SPIN_LIMIT_LONGEST,
} hrt_spin_limit;

typedef struct {
    // Must live at least as long as the window.
    hrt_spin_budget *budget;
    // In (0, 1).
    double coverage;
    // Latency of the wake recorded last; -1 after a caller has read it.
    int64_t last_latency_ns;
    // Length for the next wake; -1 without a window.
    int64_t window_ns;
    // How many wakes had a window, and how many of them were no later than it was long. Atomic, as
    // is the limit.
    uint64_t wakes;
    uint64_t covered_wakes;
    // What limited the latest window.
    hrt_spin_limit limit;
    // 0 before a class's first wake.
    float predicted_ns[HRT_SPIN_WINDOW_CLASSES];
    // The expected spin of the latest window.
    double expected_ns;
    // Sleep before a first wake: counts for the second one's budget too.
    int64_t slept_ns;
    // Time of the wake, on the wait's clock; INT64_MIN once the thread was ready, and at first.
    int64_t woken_ns;
    // Learned time from the wake to the begin of the spin.
    float ready_ns;
    // A histogram of the factors by which latencies differ from their predictions; next_weight is
    // what the next one counts.
    float total;
    float next_weight;
    float weights[HRT_SPIN_WINDOW_BUCKETS];
} hrt_spin_window;

// Initializes a spin window. A coverage out of range counts as the nearest bound. One thread at a
// time uses a spin window, as with all functions here; several windows may share a budget.
void hrt_spin_window_init(hrt_spin_window *window, double coverage, hrt_spin_budget *budget);

// Returns the length of the spin window, in ns, for a sleep of about sleep_ns that begins now: 0 or
// more, and never more than is left of the budget.
int64_t hrt_spin_window_ns(hrt_spin_window *window, int64_t sleep_ns,
                           int64_t now_ns) HRT_NONBLOCKING;

// Returns how long before the deadline, in ns, a thread should wake first, and then sleep again; 0
// if one wake is better. This is for the sleep that hrt_spin_window_ns was last called for.
int64_t hrt_spin_window_first_ns(hrt_spin_window *window, int64_t sleep_ns) HRT_NONBLOCKING;

// Records that a sleep of sleep_ns ended latency_ns after its intended instant.
void hrt_spin_window_record_wake(hrt_spin_window *window, int64_t sleep_ns,
                                 int64_t latency_ns) HRT_NONBLOCKING;

// The outcome of the windows so far, and what limited the latest one. Any thread.
typedef struct {
    uint64_t wakes, covered_wakes;
    hrt_spin_limit limit;
} hrt_spin_outcome;
hrt_spin_outcome hrt_spin_window_outcome(const hrt_spin_window *window);

// Records that the thread, which woke at woken_ns, was ready to spin at now_ns, both on the wait's
// clock. Does nothing if there was no wake since it was called last.
void hrt_spin_window_record_ready(hrt_spin_window *window, int64_t now_ns) HRT_NONBLOCKING;

#ifdef __cplusplus
}
#endif

#endif

#ifndef HRT_SPIN_WINDOW_H
#define HRT_SPIN_WINDOW_H

#include <stdint.h>

#include "hrt_nonblocking.h"
#include "hrt_spin_budget.h"

// How long before a deadline a thread must wake so that it can spin until the deadline, learned
// from recent wake latencies. The caller passes in the time and the latencies; it reads no clock.
//
// Latencies follow each other: of two wakes in a row both are mostly early or both late
// ("Exactness against its cost" in RESULTS.md). So the next one is predicted, by a mean in which
// each counts 30 %, and what is kept in a histogram is by which factor latencies differ from their
// predictions. The window is the prediction times a quantile of those factors.
//
// The expected spin of a window is the mean of what those latencies would leave of it. The window
// grows
//
// * until it covers the coverage asked for;
// * as long as a fire expects to spin no more than the budget gives for its sleep, and at most
//   250 us;
// * as long as that is worth it: to cover one fire of a hundred more may cost every fire 7 us, at
//   a coverage of 0.99. Wakes that are late by milliseconds are left to be late.
//
// To this comes what the thread itself needs from its wake to the begin of the spin, also learned:
// after milliseconds of idleness that is microseconds, for its code and data are in no cache.
//
// After a long sleep a processor wakes late, and by very different times; after a short one it does
// not. So where that spares more spinning than a second wake costs, the thread first wakes some
// hundreds of microseconds early, and sleeps again (the same there).
//
// Entries fade by 1 % with each new one. One stall of any length is one entry, and moves the
// prediction by no more than 45 %.
enum {
    // Sleeps of different length wake from different idle states, so each class has its prediction:
    // below 400 us, below 3 ms, below 50 ms (the rates of frames), and longer. A class without a
    // wake begins with its neighbour's.
    HRT_SPIN_WINDOW_CLASSES = 4,
    // Sixteen an octave, from a 16th of the prediction to 64 times as much.
    HRT_SPIN_WINDOW_BUCKETS = 160,
    // No window is longer, whatever was learned: where more is left the clock was set back, and who
    // would spin sleeps again.
    HRT_SPIN_WINDOW_LONGEST_NS = 20 * 1000 * 1000,
};

// What keeps a window from being longer.
typedef enum {
    HRT_SPIN_LIMIT_COVERAGE,  // it covers what was asked for, or all that is worth it
    HRT_SPIN_LIMIT_BUDGET,
    HRT_SPIN_LIMIT_LONGEST,  // 250 us of expected spin
} hrt_spin_limit;

typedef struct {
    hrt_spin_budget *budget;  // lives at least as long
    double coverage;          // in (0, 1)
    int64_t last_latency_ns;  // of the wake recorded last; -1 after a caller has read it
    int64_t window_ns;        // of the wake to come; -1 without one
    uint64_t wakes;           // that had a window; atomic, as the two below
    uint64_t covered_wakes;   // those that were no later than it was long
    hrt_spin_limit limit;     // of the latest window
    float predicted_ns[HRT_SPIN_WINDOW_CLASSES];  // 0 before the first wake
    double expected_ns;  // what the latest window is expected to spin
    int64_t slept_ns;    // before a first wake: the budget for the second gives for that too
    int64_t woken_ns;    // when, on the clock of the wait; INT64_MIN once the spin has begun
    float ready_ns;      // from the wake to the begin of the spin
    float total;
    float next_weight;
    float weights[HRT_SPIN_WINDOW_BUCKETS];
} hrt_spin_window;

// A coverage out of range counts as the nearest bound. One thread at a time uses a spin window, as
// with all functions here; several may share a budget.
void hrt_spin_window_init(hrt_spin_window *window, double coverage, hrt_spin_budget *budget);

// The spin window for a sleep of about sleep_ns that begins now: 0 or more, and never more than is
// left of the budget.
int64_t hrt_spin_window_ns(hrt_spin_window *window, int64_t sleep_ns,
                           int64_t now_ns) HRT_NONBLOCKING;

// How long before the deadline a thread does best to wake first, and then to sleep again; 0 if one
// wake is better. For the sleep that hrt_spin_window_ns was called for last.
int64_t hrt_spin_window_first_ns(hrt_spin_window *window, int64_t sleep_ns) HRT_NONBLOCKING;

// Records that a sleep of sleep_ns ended latency_ns after its instant.
void hrt_spin_window_record_wake(hrt_spin_window *window, int64_t sleep_ns,
                                 int64_t latency_ns) HRT_NONBLOCKING;

// What came of the windows so far, and what limited the latest one. Any thread.
typedef struct {
    uint64_t wakes, covered_wakes;
    hrt_spin_limit limit;
} hrt_spin_outcome;
hrt_spin_outcome hrt_spin_window_outcome(const hrt_spin_window *window);

// The thread woke at woken_ns and is ready to spin at now_ns, on any clock.
void hrt_spin_window_record_ready(hrt_spin_window *window, int64_t woken_ns,
                                  int64_t now_ns) HRT_NONBLOCKING;

#endif

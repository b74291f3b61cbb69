// SPDX-License-Identifier: Apache-2.0
#ifndef CTEST_REPLAY_H
#define CTEST_REPLAY_H

#include <stddef.h>
#include <stdint.h>

// Recorded wake latencies, replayed through the spin window in virtual time and, beside it, through
// fixed margins. What either loses: the mean spin of a fire, CTEST_WAKE_NS for its wake, and
// 500 us for each fire that is later than a bound. The regret is the window's loss over that of the
// best margin for the same latencies, which only hindsight knows.
enum {
    // What a wake costs in any case. With more, every regret is nearer to 1.
    CTEST_WAKE_NS = 5000,
};

// Returns the regret; all times are in ns, and each of the `count` latencies is that of a sleep of
// `interval_ns`.
double ctest_replay_regret(const int64_t *_Nonnull latencies_ns, size_t count, int64_t interval_ns,
                           int64_t bound_ns);

// Makes the latencies of another machine of them, in place: one twice as fast; and one whose
// processor has idle states, with an exit latency of 2, 10 or, in sleeps of some ms, 133 us, and
// stays in one for 20 sleeps in the mean. The same states each time.
void ctest_replay_halve(int64_t *_Nonnull latencies_ns, size_t count);
void ctest_replay_add_idle_states(int64_t *_Nonnull latencies_ns, size_t count,
                                  int64_t interval_ns);

#endif

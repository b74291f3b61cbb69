// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_spin_window.h"

#include <stdbool.h>
#include <string.h>

#include "../include/hrt_clock.h"

enum {
    // A factor of 1 is stored as 2^12, so that the least bucket, 2^8, is 1/16.
    ONE_LOG2 = 12,
    LOWEST_OCTAVE = 8,
    BUCKETS_PER_OCTAVE_LOG2 = 4,
};

// Each new entry weighs 1 / KEPT times the one before, which equals multiplying the weights of all
// old entries by KEPT. A histogram that fades ten times as slowly covers a little more, also at a
// coverage of 0.99, and spins a little more for it (Benchmarks/wake-latencies): that is no reason
// for a second one.
#ifndef HRT_SPIN_WINDOW_KEPT
#define HRT_SPIN_WINDOW_KEPT 0.99f
#endif
static const float KEPT = HRT_SPIN_WINDOW_KEPT;

// Weights are scaled back before they leave the comfortable range of a float.
static const float LARGEST_WEIGHT = 1e20f;

// The part that a new latency has in the prediction, and the largest factor by which it counts
// above the prediction.
static const float PART_OF_NEW = 0.25f;
static const float LARGEST_STEP = 2.5f;

// The prediction before any wake was recorded: the latency of an ordinary machine. The factors
// begin as if one wake had been as predicted, with so small a weight that it is soon forgotten. The
// first wake becomes the next prediction, up to LARGEST_FIRST_NS.
static const float FIRST_GUESS_NS = 60 * 1000;
static const double LARGEST_FIRST_NS = 300 * 1000;
static const float GUESS_WEIGHT = 0.25f;

// The most that a fire may expect to spin in any case, and that the thread may need to be ready.
static const double LONGEST_EXPECTED_NS = 250 * 1000;

// A time to be ready counts up to this, or up to LARGEST_STEP times what is known of it: a
// processor that was taken away meanwhile says nothing of the code.
static const double LEAST_READY_BOUND_NS = 20 * 1000;

// The spin that covering one more fire is worth is WORTH_NS divided by the part of fires that need
// not be covered. So at a coverage of 0.99, covering one fire of a hundred more may cost each of
// them 4 us. If less than most fires are to be covered, it is LEAST_WORTH_NS: what a short spin
// costs.
static const double WORTH_NS = 4 * 1000;
static const double LEAST_WORTH_NS = 40 * 1000;

static unsigned class_of(int64_t sleep_ns) {
    if (sleep_ns < 400 * 1000) return 0;
    if (sleep_ns < 3 * 1000 * 1000) return 1;
    return sleep_ns < 50 * 1000 * 1000 ? 2 : 3;
}

static unsigned bucket_of(float factor) {
    // Values out of range go to the first or last bucket; NaN does not occur, because predictions
    // are above 0.
    if (!(factor > 1.0f / 16)) return 0;
    if (factor >= 64) return HRT_SPIN_WINDOW_BUCKETS - 1;
    uint64_t scaled = (uint64_t)(factor * (1 << ONE_LOG2));
    unsigned octave = 63 - (unsigned)__builtin_clzll(scaled);
    unsigned part = (unsigned)(scaled >> (octave - BUCKETS_PER_OCTAVE_LOG2)) &
                    ((1u << BUCKETS_PER_OCTAVE_LOG2) - 1);
    return ((octave - LOWEST_OCTAVE) << BUCKETS_PER_OCTAVE_LOG2) + part;
}

// Returns the least factor above the bucket.
static double bucket_end(unsigned bucket) {
    unsigned octave = LOWEST_OCTAVE + (bucket >> BUCKETS_PER_OCTAVE_LOG2);
    int64_t part = (bucket & ((1u << BUCKETS_PER_OCTAVE_LOG2) - 1)) + 1;
    int64_t end = (INT64_C(1) << octave) + (part << (octave - BUCKETS_PER_OCTAVE_LOG2));
    return (double)end / (1 << ONE_LOG2);
}

static double clamp(double value, double low, double high) {
    return value > low ? (value < high ? value : high) : low;  // NaN becomes low
}

void hrt_spin_window_init(hrt_spin_window *window, double coverage, hrt_spin_budget *budget) {
    memset(window, 0, sizeof *window);
    window->budget = budget;
    window->coverage = clamp(coverage, 0.01, 0.999);
    window->last_latency_ns = window->window_ns = -1;
    window->woken_ns = INT64_MIN;
    window->next_weight = 1;
    window->total = GUESS_WEIGHT;
    window->weights[bucket_of(1)] = GUESS_WEIGHT;
}

// Returns the class's prediction. For a class without a recorded wake it is that of the nearest
// class which has some; of two equally near, that of the shorter sleeps.
static float predicted_ns(const hrt_spin_window *window, unsigned class) {
    for (unsigned distance = 0; distance < HRT_SPIN_WINDOW_CLASSES; distance++) {
        if (distance <= class && window->predicted_ns[class - distance] > 0)
            return window->predicted_ns[class - distance];
        unsigned longer = class + distance;
        if (longer < HRT_SPIN_WINDOW_CLASSES && window->predicted_ns[longer] > 0)
            return window->predicted_ns[longer];
    }
    return FIRST_GUESS_NS;
}

static const int64_t SHORTEST_LONG_SLEEP_NS = 3 * 1000 * 1000;

// The cost of a second wake. In a virtual machine it takes 20 us of the processor, on a real one
// less.
static const double SECOND_WAKE_NS = 20 * 1000;

// The first wake is this much earlier than twice the latency that is predicted for it.
static const double SECOND_SLEEP_NS = 100 * 1000;

// Returns the window, in multiples of the prediction, with the greatest worth minus expected spin,
// among those that cover no more than was requested and expect to spin no more than `most`. All
// times are in multiples of the prediction here, and each sum is by weight.
static double best_window(const hrt_spin_window *window, double most, double worth,
                          double *out_spin, hrt_spin_limit *out_limit) {
    double total = window->total, covered = 0, latencies = 0, begin = 1.0 / 16;
    double best = 0, best_gain = 0;
    *out_spin = 0;
    *out_limit = HRT_SPIN_LIMIT_COVERAGE;
    for (unsigned bucket = 0; bucket < HRT_SPIN_WINDOW_BUCKETS; bucket++) {
        double weight = window->weights[bucket], end = bucket_end(bucket);
        if (weight > 0) {
            double with_this = covered + weight;
            double spin = end * with_this - latencies - weight * 0.5 * (begin + end);
            if (spin > most * total) {
                // Goes only as far into the bucket as may be spun.
                double spin_before = begin * covered - latencies;
                double part = (most * total - spin_before) / (spin - spin_before);
                if (worth * (covered + part * weight) - most * total < best_gain) return best;
                *out_limit = HRT_SPIN_LIMIT_BUDGET;
                *out_spin = most;
                return begin + part * (end - begin);
            }
            covered = with_this;
            latencies += weight * 0.5 * (begin + end);
            if (worth * covered - spin >= best_gain) {
                best_gain = worth * covered - spin;
                best = end;
                *out_spin = spin / total;
            }
            if (covered >= total * window->coverage) return best;
        }
        begin = end;
    }
    return best;
}

static int64_t window_ns(hrt_spin_window *window, int64_t sleep_ns, int64_t now_ns,
                         hrt_spin_limit *out_limit) HRT_NONBLOCKING {
    double left_ns = hrt_spin_budget_left_ns(window->budget, now_ns);
    *out_limit = HRT_SPIN_LIMIT_BUDGET;
    if (left_ns <= 0) return 0;
    int64_t since_ns;
    if (__builtin_add_overflow(sleep_ns, window->slept_ns, &since_ns)) since_ns = INT64_MAX;
    double most_ns = hrt_spin_budget_expected_ns(window->budget, since_ns, now_ns);
    bool is_long = most_ns > LONGEST_EXPECTED_NS;
    if (is_long) most_ns = LONGEST_EXPECTED_NS;
    double predicted = predicted_ns(window, class_of(sleep_ns));
    double worth_ns = clamp(WORTH_NS / (1 - window->coverage), LEAST_WORTH_NS, HRT_NS_PER_S);
    double wanted_ns = predicted * best_window(window, most_ns / predicted, worth_ns / predicted,
                                               &window->expected_ns, out_limit);
    window->expected_ns *= predicted;
    if (is_long && *out_limit == HRT_SPIN_LIMIT_BUDGET) *out_limit = HRT_SPIN_LIMIT_LONGEST;
    if (wanted_ns > 0) wanted_ns += window->ready_ns;
    double longest_ns = clamp(left_ns, 0, HRT_SPIN_WINDOW_LONGEST_NS);
    if (wanted_ns <= longest_ns) return (int64_t)wanted_ns;
    bool is_scarce = left_ns < HRT_SPIN_WINDOW_LONGEST_NS;
    *out_limit = is_scarce ? HRT_SPIN_LIMIT_BUDGET : HRT_SPIN_LIMIT_LONGEST;
    return (int64_t)longest_ns;
}

int64_t hrt_spin_window_ns(hrt_spin_window *window, int64_t sleep_ns,
                           int64_t now_ns) HRT_NONBLOCKING {
    hrt_spin_limit limit;
    window->window_ns = window_ns(window, sleep_ns, now_ns, &limit);
    window->slept_ns = 0;
    __atomic_store_n(&window->limit, limit, __ATOMIC_RELAXED);
    return window->window_ns;
}

int64_t hrt_spin_window_first_ns(hrt_spin_window *window, int64_t sleep_ns) HRT_NONBLOCKING {
    if (sleep_ns < SHORTEST_LONG_SLEEP_NS || window->window_ns <= 0) return 0;
    double after_long_ns = predicted_ns(window, class_of(sleep_ns));
    // 0 before the first short sleep, so that one is tried.
    double after_short_ns = window->predicted_ns[0];
    double spared_ns = window->expected_ns * (1 - after_short_ns / after_long_ns);
    if (spared_ns < SECOND_WAKE_NS) return 0;
    return (int64_t)clamp(2 * after_long_ns + SECOND_SLEEP_NS, 0, SHORTEST_LONG_SLEEP_NS / 4);
}

void hrt_spin_window_record_ready(hrt_spin_window *window, int64_t now_ns) HRT_NONBLOCKING {
    int64_t took_ns, woken_ns = window->woken_ns;
    window->woken_ns = INT64_MIN;
    if (woken_ns == INT64_MIN || __builtin_sub_overflow(now_ns, woken_ns, &took_ns)) return;
    double known_ns = (double)(LARGEST_STEP * window->ready_ns);
    double most_ns = clamp(known_ns, LEAST_READY_BOUND_NS, LONGEST_EXPECTED_NS);
    float bounded_ns = (float)clamp((double)took_ns, 0, most_ns);
    window->ready_ns += PART_OF_NEW * (bounded_ns - window->ready_ns);
}

hrt_spin_outcome hrt_spin_window_outcome(const hrt_spin_window *window) {
    // Read in this order, so that never more wakes are covered than there were.
    uint64_t covered = __atomic_load_n(&window->covered_wakes, __ATOMIC_ACQUIRE);
    return (hrt_spin_outcome){.wakes = __atomic_load_n(&window->wakes, __ATOMIC_RELAXED),
                              .covered_wakes = covered,
                              .limit = __atomic_load_n(&window->limit, __ATOMIC_RELAXED)};
}

static bool is_new(const hrt_spin_window *window) {
    for (unsigned class = 0; class < HRT_SPIN_WINDOW_CLASSES; class += 1)
        if (window->predicted_ns[class] > 0) return false;
    return true;
}

// Moves the prediction towards the new latency; a stall counts as a few times the prediction.
static void predict(hrt_spin_window *window, unsigned class, float before_ns, float latency_ns) {
    float bounded_ns = (float)clamp(latency_ns, 1, LARGEST_STEP * before_ns);
    window->predicted_ns[class] = before_ns + PART_OF_NEW * (bounded_ns - before_ns);
}

void hrt_spin_window_record_wake(hrt_spin_window *window, int64_t sleep_ns,
                                 int64_t latency_ns) HRT_NONBLOCKING {
    unsigned class = class_of(sleep_ns);
    float weight = window->next_weight;
    window->last_latency_ns = latency_ns;
    if (window->window_ns >= 0) {
        // Only one thread writes, so nothing is lost between reading and writing.
        __atomic_store_n(&window->wakes, window->wakes + 1, __ATOMIC_RELAXED);
        if (latency_ns <= window->window_ns)
            __atomic_store_n(&window->covered_wakes, window->covered_wakes + 1, __ATOMIC_RELEASE);
        window->window_ns = -1;
    }
    if (is_new(window)) {
        // The guess says nothing about how exact predictions are.
        window->predicted_ns[class] = (float)clamp((double)latency_ns, 1, LARGEST_FIRST_NS);
        return;
    }
    float expected_ns = predicted_ns(window, class);
    window->weights[bucket_of((float)latency_ns / expected_ns)] += weight;
    window->total += weight;
    window->next_weight = weight / KEPT;
    predict(window, class, expected_ns, (float)latency_ns);
    if (weight < LARGEST_WEIGHT) return;
    // Happens once in about 4,600 entries.
    for (unsigned bucket = 0; bucket < HRT_SPIN_WINDOW_BUCKETS; bucket++)
        window->weights[bucket] /= weight;
    window->total /= weight;
    window->next_weight /= weight;
}
#endif

#include "../include/hrt_spin_window.h"

#include <stdbool.h>
#include <string.h>

#include "../include/hrt_clock.h"

enum {
    LOWEST_OCTAVE = 8,  // 2^8 ns = 256 ns, less than any wake takes
    BUCKETS_PER_OCTAVE_LOG2 = 3,
};

// Each new entry weighs 1 / KEPT times the one before, which equals multiplying the weights of all
// old ones by KEPT.
static const double KEPT = 0.96;

// Weights are scaled back before they leave the comfortable range of a double.
static const double LARGEST_WEIGHT = 1e100;

// The first guess before any wake was recorded: a wake's latency on an ordinary machine with
// default slack. Its weight is so small that after three wakes no quantile below 0.9 depends on it.
static const int64_t FIRST_GUESS_NS = 60 * 1000;
static const double GUESS_WEIGHT = 0.25;

// The allowance never exceeds the budget of a tenth of a second: in any second at most 110 % of the
// budget can be spun.
static const double ALLOWANCE_SPAN_NS = 0.1 * HRT_NS_PER_S;

// The expected spin of one wait is at most this part of the allowance. Where the budget is scarce,
// the spin thus levels off at what the budget adds between two fires: every fire has a smaller spin
// window, instead of some having none. Where it is not, a fire still spins no more than one of a
// 1 kHz timer: by default 13 us, a third of a wake-up's own cost.
static const double SHARE_OF_ALLOWANCE = 1.0 / 96;

// The spin window covers this quantile, beyond the requested one, if the expected spin is then no
// more than this part of the budget that the sleep adds, and no more than a third of a wake-up.
static const double GENEROUS_QUANTILE = 0.99;
static const double SHARE_OF_INCOME = 1.0 / 8;
static const double GENEROUS_NS = 13 * 1000;

static unsigned class_of(int64_t sleep_ns) {
    if (sleep_ns < 200 * 1000) return 0;
    if (sleep_ns < 3 * 1000 * 1000) return 1;
    return sleep_ns < 50 * 1000 * 1000 ? 2 : 3;
}

static unsigned bucket_of(int64_t latency_ns) {
    if (latency_ns < INT64_C(1) << LOWEST_OCTAVE) return 0;
    unsigned octave = 63 - (unsigned)__builtin_clzll((unsigned long long)latency_ns);
    unsigned part = (unsigned)(latency_ns >> (octave - BUCKETS_PER_OCTAVE_LOG2)) &
                    ((1u << BUCKETS_PER_OCTAVE_LOG2) - 1);
    unsigned bucket = ((octave - LOWEST_OCTAVE) << BUCKETS_PER_OCTAVE_LOG2) + part;
    return bucket < HRT_SPIN_WINDOW_BUCKETS ? bucket : HRT_SPIN_WINDOW_BUCKETS - 1;
}

// The least latency above the bucket.
static int64_t bucket_end_ns(unsigned bucket) {
    unsigned octave = LOWEST_OCTAVE + (bucket >> BUCKETS_PER_OCTAVE_LOG2);
    int64_t part = (bucket & ((1u << BUCKETS_PER_OCTAVE_LOG2) - 1)) + 1;
    return (INT64_C(1) << octave) + (part << (octave - BUCKETS_PER_OCTAVE_LOG2));
}

static double clamp(double value, double low, double high) {
    return value > low ? (value < high ? value : high) : low;  // NaN becomes low
}

void hrt_spin_window_init(hrt_spin_window *window, double quantile, double budget, int64_t now_ns) {
    memset(window, 0, sizeof *window);
    window->last_latency_ns = -1;
    window->quantile = clamp(quantile, 0.01, 0.999);
    window->budget = clamp(budget, 0, 1);
    window->allowance_ns = window->budget * ALLOWANCE_SPAN_NS;
    window->allowance_as_of_ns = now_ns;
    for (unsigned class = 0; class < HRT_SPIN_WINDOW_CLASSES; class++) {
        window->classes[class].next_weight = 1;
        window->classes[class].weights[bucket_of(FIRST_GUESS_NS)] = GUESS_WEIGHT;
        window->classes[class].total = GUESS_WEIGHT;
    }
}

void hrt_spin_window_set_budget(hrt_spin_window *window, double budget) {
    window->budget = clamp(budget, 0, 1);
}

static void add_up_allowance(hrt_spin_window *window, int64_t now_ns) {
    double elapsed_ns = (double)(now_ns - window->allowance_as_of_ns);
    if (elapsed_ns <= 0) return;
    window->allowance_as_of_ns = now_ns;
    double allowance_ns = window->allowance_ns + elapsed_ns * window->budget;
    window->allowance_ns =
        clamp(allowance_ns, -ALLOWANCE_SPAN_NS, window->budget * ALLOWANCE_SPAN_NS);
}

static bool is_new(const hrt_spin_window *window, unsigned class) {
    return window->classes[class].next_weight == 1;
}

// Whether there is such a class, and it has seen a wake.
static bool knows(const hrt_spin_window *window, unsigned class) {
    return class < HRT_SPIN_WINDOW_CLASSES && !is_new(window, class);
}

// A class without a recorded wake begins with the latencies of the nearest class that has some,
// instead of the guess; of two equally near, with those of the shorter sleeps.
static void seed(hrt_spin_window *window, unsigned class) {
    for (unsigned distance = 1; distance < HRT_SPIN_WINDOW_CLASSES; distance++) {
        // Below class 0 the difference wraps to a number that is no class.
        unsigned neighbour = knows(window, class - distance) ? class - distance : class + distance;
        if (!knows(window, neighbour)) continue;
        const double *known = window->classes[neighbour].weights;
        double scale = GUESS_WEIGHT / window->classes[neighbour].total;
        for (unsigned bucket = 0; bucket < HRT_SPIN_WINDOW_BUCKETS; bucket++) {
            window->classes[class].weights[bucket] = known[bucket] * scale;
        }
        return;
    }
}

// The largest spin window whose expected spin (the mean of its rest after a wake) is no more than
// spin_ns, but no larger than what covers the requested quantile. It is larger, up to the generous
// quantile, while its expected spin is no more than generous_ns.
static int64_t window_within(const hrt_spin_window *window, unsigned class, double spin_ns,
                             double generous_ns) {
    const double *weights = window->classes[class].weights;
    double total = window->classes[class].total, covered = 0, latencies_ns = 0;
    double most_ns = spin_ns * total;
    int64_t begin_ns = INT64_C(1) << LOWEST_OCTAVE;
    for (unsigned bucket = 0; bucket < HRT_SPIN_WINDOW_BUCKETS; bucket++) {
        int64_t end_ns = bucket_end_ns(bucket);
        double with_this = covered + weights[bucket];
        double with_this_ns = latencies_ns + weights[bucket] * 0.5 * (double)(begin_ns + end_ns);
        if ((double)end_ns * with_this - with_this_ns > most_ns) {
            if (covered == 0) return begin_ns;
            return (int64_t)clamp((most_ns + latencies_ns) / covered, (double)begin_ns,
                                  (double)end_ns);
        }
        covered = with_this;
        latencies_ns = with_this_ns;
        begin_ns = end_ns;
        if (covered < total * window->quantile) continue;
        if (covered >= total * GENEROUS_QUANTILE) break;
        if (generous_ns < spin_ns) most_ns = generous_ns * total;
    }
    return begin_ns;
}

int64_t hrt_spin_window_ns(hrt_spin_window *window, int64_t sleep_ns,
                           int64_t now_ns) HRT_NONBLOCKING {
    add_up_allowance(window, now_ns);
    if (window->allowance_ns <= 0) return 0;
    unsigned class = class_of(sleep_ns);
    if (is_new(window, class)) seed(window, class);
    double income_ns = (double)sleep_ns * window->budget;
    double generous_ns = clamp(income_ns * SHARE_OF_INCOME, 0, GENEROUS_NS);
    double spin_ns = window->allowance_ns * SHARE_OF_ALLOWANCE;
    int64_t wanted_ns = window_within(window, class, spin_ns, generous_ns);
    return (double)wanted_ns < window->allowance_ns ? wanted_ns : (int64_t)window->allowance_ns;
}

void hrt_spin_window_record_wake(hrt_spin_window *window, int64_t sleep_ns,
                                 int64_t latency_ns) HRT_NONBLOCKING {
    unsigned class = class_of(sleep_ns);
    double weight = window->classes[class].next_weight;
    window->last_latency_ns = latency_ns;
    window->classes[class].weights[bucket_of(latency_ns)] += weight;
    window->classes[class].total += weight;
    window->classes[class].next_weight = weight / KEPT;
    if (weight < LARGEST_WEIGHT) return;
    // Happens once in some 5,600 entries.
    for (unsigned bucket = 0; bucket < HRT_SPIN_WINDOW_BUCKETS; bucket++)
        window->classes[class].weights[bucket] /= weight;
    window->classes[class].total /= weight;
    window->classes[class].next_weight /= weight;
}

void hrt_spin_window_record_spin(hrt_spin_window *window, int64_t spun_ns) HRT_NONBLOCKING {
    if (spun_ns > 0) window->allowance_ns -= (double)spun_ns;
}

void hrt_spin_window_take_back_spin(hrt_spin_window *window, int64_t unspun_ns) HRT_NONBLOCKING {
    double most_ns = window->budget * ALLOWANCE_SPAN_NS;
    double allowance_ns = window->allowance_ns + (double)unspun_ns;
    if (unspun_ns > 0) window->allowance_ns = allowance_ns < most_ns ? allowance_ns : most_ns;
}

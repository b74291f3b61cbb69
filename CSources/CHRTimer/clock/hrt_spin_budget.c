// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_spin_budget.h"

#include <stdbool.h>

#include "../include/hrt_clock.h"

// How long unused time adds up.
static const int64_t SPAN_NS = HRT_NS_PER_S / 10;

// No debt lasts longer, even if a restored guest's clock was far ahead.
static const int64_t LONGEST_DEBT_NS = HRT_NS_PER_S;

static double clamp(double value, double low, double high) {
    return value > low ? (value < high ? value : high) : low;  // NaN becomes low
}

static int64_t minus(int64_t from_ns, int64_t ns) {
    int64_t difference_ns;
    if (!__builtin_sub_overflow(from_ns, ns, &difference_ns)) return difference_ns;
    return ns > 0 ? INT64_MIN : INT64_MAX;
}

void hrt_spin_budget_init(hrt_spin_budget *budget, double share, int64_t now_ns) {
    budget->share = clamp(share, 0, 1);
    budget->earned_by_ns = minus(now_ns, SPAN_NS);
}

// Returns how long the present budget took to earn: SPAN_NS if it is full, below 0 if there is a
// debt.
static int64_t earned_for_ns(hrt_spin_budget *budget, int64_t now_ns) {
    int64_t earned_by_ns = __atomic_load_n(&budget->earned_by_ns, __ATOMIC_RELAXED);
    for (;;) {
        int64_t earned_ns = minus(now_ns, earned_by_ns);
        int64_t bounded_ns = earned_ns > SPAN_NS            ? SPAN_NS
                             : earned_ns < -LONGEST_DEBT_NS ? -LONGEST_DEBT_NS
                                                            : earned_ns;
        if (bounded_ns == earned_ns) return earned_ns;
        // Time earned longer ago than the span is lost, once for all spenders.
        if (__atomic_compare_exchange_n(&budget->earned_by_ns, &earned_by_ns,
                                        minus(now_ns, bounded_ns), false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return bounded_ns;
    }
}

double hrt_spin_budget_left_ns(hrt_spin_budget *budget, int64_t now_ns) HRT_NONBLOCKING {
    return (double)earned_for_ns(budget, now_ns) * budget->share;
}

double hrt_spin_budget_expected_ns(hrt_spin_budget *budget, int64_t sleep_ns,
                                   int64_t now_ns) HRT_NONBLOCKING {
    if (budget->share == 0) return 0;
    double fullness = (double)earned_for_ns(budget, now_ns) / (double)SPAN_NS;
    return (double)sleep_ns * budget->share * clamp(2 * fullness, 0, 1);
}

void hrt_spin_budget_spend(hrt_spin_budget *budget, int64_t spun_ns) HRT_NONBLOCKING {
    if (budget->share == 0) return;
    double most_ns = (double)LONGEST_DEBT_NS;
    double earned_ns = clamp((double)spun_ns / budget->share, -most_ns, most_ns);
    __atomic_fetch_add(&budget->earned_by_ns, (int64_t)earned_ns, __ATOMIC_RELAXED);
}
#endif

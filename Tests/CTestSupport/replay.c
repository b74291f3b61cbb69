// SPDX-License-Identifier: Apache-2.0
#include "ctest_replay.h"

#include "hrt_spin_window.h"

static const double WORTH_OF_EXACT_NS = 500 * 1000;

// The margins of the bench's rivals.
static const int64_t MARGINS_NS[] = {20000, 40000, 60000, 80000, 120000, 200000};

// What the fires so far lost.
struct loss {
    double spun_ns;
    size_t late;
};

static void add(struct loss *loss, int64_t early_ns, int64_t bound_ns) {
    if (early_ns > 0) loss->spun_ns += (double)early_ns;
    if (-early_ns > bound_ns) loss->late++;
}

static double mean_ns(const struct loss *loss, size_t count) {
    double lost_ns = loss->spun_ns + WORTH_OF_EXACT_NS * (double)loss->late;
    return CTEST_WAKE_NS + lost_ns / (double)count;
}

static double loss_of_margin_ns(const int64_t *latencies_ns, size_t count, int64_t margin_ns,
                                int64_t bound_ns) {
    struct loss loss = {0};
    for (size_t fire = 0; fire < count; fire++)
        add(&loss, margin_ns - latencies_ns[fire], bound_ns);
    return mean_ns(&loss, count);
}

// With the budget and the coverage that an engine has by default.
static double loss_of_window_ns(const int64_t *latencies_ns, size_t count, int64_t interval_ns,
                                int64_t bound_ns) {
    int64_t now_ns = 0;
    hrt_spin_budget budget;
    hrt_spin_window window;
    hrt_spin_budget_init(&budget, 0.0125, now_ns);
    hrt_spin_window_init(&window, 0.99, &budget);
    struct loss loss = {0};
    for (size_t fire = 0; fire < count; fire++) {
        int64_t window_ns = hrt_spin_window_ns(&window, interval_ns, now_ns);
        int64_t early_ns = window_ns - latencies_ns[fire];
        now_ns += interval_ns;
        hrt_spin_window_record_wake(&window, interval_ns, latencies_ns[fire]);
        if (early_ns > 0) hrt_spin_budget_spend(&budget, early_ns);
        add(&loss, early_ns, bound_ns);
    }
    return mean_ns(&loss, count);
}

double ctest_replay_regret(const int64_t *latencies_ns, size_t count, int64_t interval_ns,
                           int64_t bound_ns) {
    double least_ns = 0;
    for (size_t index = 0; index < sizeof MARGINS_NS / sizeof MARGINS_NS[0]; index++) {
        double loss_ns = loss_of_margin_ns(latencies_ns, count, MARGINS_NS[index], bound_ns);
        if (index == 0 || loss_ns < least_ns) least_ns = loss_ns;
    }
    return loss_of_window_ns(latencies_ns, count, interval_ns, bound_ns) / least_ns;
}

void ctest_replay_halve(int64_t *latencies_ns, size_t count) {
    for (size_t sleep = 0; sleep < count; sleep++) latencies_ns[sleep] /= 2;
}

void ctest_replay_add_idle_states(int64_t *latencies_ns, size_t count, int64_t interval_ns) {
    const int64_t exits_ns[] = {2000, 10000, interval_ns > 3000000 ? 133000 : 2000};
    int64_t exit_ns = exits_ns[0];
    uint64_t random = 1;
    for (size_t sleep = 0; sleep < count; sleep++) {
        // Knuth's multiplier and increment (MMIX); its high bits are good.
        random = random * 6364136223846793005 + 1442695040888963407;
        if ((random >> 40) % 20 == 0) exit_ns = exits_ns[(random >> 32) % 3];
        // Without the hypervisor's part.
        latencies_ns[sleep] = latencies_ns[sleep] / 8 + exit_ns;
    }
}

// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "../include/hrt_histogram.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

// Magnitudes are indexed as in HdrHistogram: bucket b holds the values that need b more bits than a
// sub-bucket index has, in steps of 2^b. All buckets but the first use only the upper half of their
// sub-buckets, because the bucket before covers the lower half.
//
// The table then lies in order of value:
//
//      slot 0       1 ... length - 1          length      length + 1 ... 2 length      2 length + 1
//      too early    early, by index          not used      late, by index               too late
//                   from large to small
struct hrt_histogram {
    _Atomic uint64_t count;
    _Atomic uint64_t early_count;
    _Atomic int64_t sum_ns;
    _Atomic int64_t min_ns;
    _Atomic int64_t max_ns;
    uint64_t highest_ns;  // largest magnitude inside the table
    size_t length;        // of the table for one sign
    int half_bits;        // log2 of half the number of sub-buckets
    // Straight from the system, mmap(2): pages for latenesses that never occur take no memory.
    _Atomic uint64_t *counts;
};

// Most fires are at most this late.
enum { USUAL_NS = 1000000 };

static size_t index_of(const hrt_histogram *histogram, uint64_t magnitude_ns) {
    uint64_t sub_bucket_mask = (UINT64_C(2) << histogram->half_bits) - 1;
    int bucket = 63 - __builtin_clzll(magnitude_ns | sub_bucket_mask) - histogram->half_bits;
    size_t sub_bucket = magnitude_ns >> bucket;
    return ((size_t)bucket << histogram->half_bits) + sub_bucket;
}

// Returns the least magnitude of an index, and writes the width of its range.
static uint64_t magnitude_at(const hrt_histogram *histogram, size_t index, uint64_t *out_width_ns) {
    size_t bucket = index >> histogram->half_bits;
    if (bucket > 0) bucket -= 1;
    *out_width_ns = UINT64_C(1) << bucket;
    return (uint64_t)(index - (bucket << histogram->half_bits)) << bucket;
}

static size_t slot_of(const hrt_histogram *histogram, int64_t value_ns) {
    if (value_ns >= 0) {
        uint64_t late_ns = (uint64_t)value_ns;
        if (late_ns > histogram->highest_ns) return 2 * histogram->length + 1;
        return histogram->length + 1 + index_of(histogram, late_ns);
    }
    uint64_t early_ns = 0 - (uint64_t)value_ns;  // unsigned, because -INT64_MIN is not an int64_t
    if (early_ns > histogram->highest_ns) return 0;
    return histogram->length - index_of(histogram, early_ns);
}

static void range_of(const hrt_histogram *histogram, size_t slot,
                     hrt_histogram_bucket *out_bucket) {
    size_t length = histogram->length;
    int64_t highest_ns = (int64_t)histogram->highest_ns;
    uint64_t width_ns;
    if (slot == 0) {
        out_bucket->low_ns = INT64_MIN;
        out_bucket->high_ns = -highest_ns - 1;
    } else if (slot == 2 * length + 1) {
        out_bucket->low_ns = highest_ns + 1;
        out_bucket->high_ns = INT64_MAX;
    } else if (slot > length) {
        out_bucket->low_ns = (int64_t)magnitude_at(histogram, slot - length - 1, &width_ns);
        out_bucket->high_ns = out_bucket->low_ns + (int64_t)width_ns - 1;
    } else {
        out_bucket->high_ns = -(int64_t)magnitude_at(histogram, length - slot, &width_ns);
        out_bucket->low_ns = out_bucket->high_ns - (int64_t)width_ns + 1;
    }
}

static size_t slot_count(const hrt_histogram *histogram) { return 2 * histogram->length + 2; }

static size_t counts_bytes(const hrt_histogram *histogram) {
    return slot_count(histogram) * sizeof histogram->counts[0];
}

// There is one writer, so a load and a store do the work of a locked add, at a tenth of its cost.
// They are atomic for the readers on other threads.
#define ADD_RELAXED(counter, amount)                                                               \
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + (amount), \
                          memory_order_relaxed)

static int64_t sum_saturating(int64_t left_ns, int64_t right_ns) {
    int64_t sum_ns;
    if (!__builtin_add_overflow(left_ns, right_ns, &sum_ns)) return sum_ns;
    return right_ns > 0 ? INT64_MAX : INT64_MIN;
}

// A sum that has reached an end of its range stays there.
static void add_to_sum(hrt_histogram *histogram, int64_t value_ns) {
    int64_t sum_ns = atomic_load_explicit(&histogram->sum_ns, memory_order_relaxed);
    if (sum_ns == INT64_MIN || sum_ns == INT64_MAX) return;
    atomic_store_explicit(&histogram->sum_ns, sum_saturating(sum_ns, value_ns),
                          memory_order_relaxed);
}

static void widen_extremes(hrt_histogram *histogram, int64_t low_ns, int64_t high_ns) {
    if (low_ns < atomic_load_explicit(&histogram->min_ns, memory_order_relaxed)) {
        atomic_store_explicit(&histogram->min_ns, low_ns, memory_order_relaxed);
    }
    if (high_ns > atomic_load_explicit(&histogram->max_ns, memory_order_relaxed)) {
        atomic_store_explicit(&histogram->max_ns, high_ns, memory_order_relaxed);
    }
}

// The first write to a page faults: for the counts of most fires, here and not in the fire.
static void touch_usual(hrt_histogram *histogram) {
    size_t page_slots = 4096 / sizeof histogram->counts[0];  // the smallest page that Linux has
    size_t last = slot_of(histogram, USUAL_NS);
    for (size_t slot = slot_of(histogram, 0); slot < last; slot += page_slots) {
        atomic_store_explicit(&histogram->counts[slot], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&histogram->counts[last], 0, memory_order_relaxed);
}

int hrt_histogram_create(int significant_digits, int64_t highest_ns,
                         hrt_histogram **out_histogram) {
    // log2 of half the number of sub-buckets that tell values apart to that many digits: of the
    // power of two at or above 10^digits.
    static const int half_bits_for_digits[] = {0, 4, 7, 10, 14};
    if (significant_digits < 1 || significant_digits > 4) return -EINVAL;
    if (highest_ns < 1 || highest_ns > INT64_MAX / 2) return -EINVAL;

    int half_bits = half_bits_for_digits[significant_digits];
    size_t buckets = 1;
    uint64_t first_beyond_ns = UINT64_C(2) << half_bits;
    while (first_beyond_ns <= (uint64_t)highest_ns) {
        first_beyond_ns <<= 1;
        buckets += 1;
    }
    size_t length = (buckets + 1) << half_bits;
    hrt_histogram *histogram = calloc(1, sizeof *histogram);
    if (histogram == NULL) return -ENOMEM;
    histogram->half_bits = half_bits;
    histogram->length = length;
    histogram->counts = mmap(NULL, counts_bytes(histogram), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (histogram->counts == MAP_FAILED) {
        free(histogram);
        return -ENOMEM;
    }
    histogram->highest_ns = first_beyond_ns - 1;
    touch_usual(histogram);
    atomic_init(&histogram->min_ns, INT64_MAX);
    atomic_init(&histogram->max_ns, INT64_MIN);
    *out_histogram = histogram;
    return 0;
}

void hrt_histogram_destroy(hrt_histogram *histogram) {
    if (histogram == NULL) return;
    munmap(histogram->counts, counts_bytes(histogram));
    free(histogram);
}

void hrt_histogram_record(hrt_histogram *histogram, int64_t value_ns) HRT_NONBLOCKING {
    size_t slot = slot_of(histogram, value_ns);
    ADD_RELAXED(&histogram->counts[slot], 1);
    ADD_RELAXED(&histogram->count, 1);
    if (value_ns < 0) ADD_RELAXED(&histogram->early_count, 1);
    add_to_sum(histogram, value_ns);
    widen_extremes(histogram, value_ns, value_ns);
}

int hrt_histogram_add(hrt_histogram *into, const hrt_histogram *from) {
    if (into->half_bits != from->half_bits || into->length != from->length) return -EINVAL;
    for (size_t slot = 0; slot < slot_count(from); slot++) {
        uint64_t count = atomic_load_explicit(&from->counts[slot], memory_order_relaxed);
        if (count != 0) ADD_RELAXED(&into->counts[slot], count);
    }
    ADD_RELAXED(&into->count, hrt_histogram_count(from));
    ADD_RELAXED(&into->early_count, hrt_histogram_early_count(from));
    add_to_sum(into, hrt_histogram_sum_ns(from));
    widen_extremes(into, hrt_histogram_min_ns(from), hrt_histogram_max_ns(from));
    return 0;
}

uint64_t hrt_histogram_count(const hrt_histogram *histogram) {
    return atomic_load_explicit(&histogram->count, memory_order_relaxed);
}

int64_t hrt_histogram_min_ns(const hrt_histogram *histogram) {
    return atomic_load_explicit(&histogram->min_ns, memory_order_relaxed);
}

int64_t hrt_histogram_max_ns(const hrt_histogram *histogram) {
    return atomic_load_explicit(&histogram->max_ns, memory_order_relaxed);
}

int64_t hrt_histogram_sum_ns(const hrt_histogram *histogram) {
    return atomic_load_explicit(&histogram->sum_ns, memory_order_relaxed);
}

uint64_t hrt_histogram_early_count(const hrt_histogram *histogram) {
    return atomic_load_explicit(&histogram->early_count, memory_order_relaxed);
}

bool hrt_histogram_next(const hrt_histogram *histogram, size_t *cursor,
                        hrt_histogram_bucket *out_bucket) {
    for (size_t slot = *cursor; slot < slot_count(histogram); slot++) {
        uint64_t count = atomic_load_explicit(&histogram->counts[slot], memory_order_relaxed);
        if (count == 0) continue;
        range_of(histogram, slot, out_bucket);
        out_bucket->count = count;
        *cursor = slot + 1;
        return true;
    }
    *cursor = slot_count(histogram);
    return false;
}

static uint64_t rank_of(uint64_t count, double percentile) {
    if (!(percentile > 0)) return 1;  // also NaN
    if (percentile >= 100) return count;
    // Subtracting a little keeps 99.9 % of 10,000 at 9,990, where the product is slightly above.
    double rank = ceil(percentile / 100 * (double)count - 1e-9 * (double)count);
    return rank < 1 ? 1 : (uint64_t)rank;
}

int64_t hrt_histogram_percentile_ns(const hrt_histogram *histogram, double percentile) {
    // Uses the total of the buckets, not the counter: a value that is being recorded may be in one
    // and not yet in the other.
    uint64_t total = 0;
    hrt_histogram_bucket bucket;
    for (size_t cursor = 0; hrt_histogram_next(histogram, &cursor, &bucket);) total += bucket.count;
    if (total == 0) return 0;

    uint64_t rank = rank_of(total, percentile), seen = 0;
    int64_t value_ns = 0;
    for (size_t cursor = 0; seen < rank && hrt_histogram_next(histogram, &cursor, &bucket);) {
        seen += bucket.count;
        value_ns = bucket.high_ns;
    }
    int64_t min_ns = hrt_histogram_min_ns(histogram), max_ns = hrt_histogram_max_ns(histogram);
    if (value_ns > max_ns) return max_ns;
    return value_ns < min_ns ? min_ns : value_ns;
}
#endif

#ifndef HRT_HISTOGRAM_H
#define HRT_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_nonblocking.h"

// Counts of lateness in log-linear buckets, laid out as HdrHistogram's, so that they can be written
// in its formats without loss. Unlike there, values are signed: a timer that fired early has
// negative lateness, which must be visible and not clamped.
//
// In C because it is on the fire path: recording is a shift, a load and a store, with no lock and
// no allocation.
//
// One thread records. Others may read or add from a histogram at any time: each number was true at
// some moment, but the numbers of a value that is being recorded may not all be updated yet.
typedef struct hrt_histogram hrt_histogram;

// A range of values, both ends included, that are counted as one.
typedef struct {
    int64_t low_ns;
    int64_t high_ns;
    uint64_t count;
} hrt_histogram_bucket;

// An empty histogram, all its memory allocated now. A value is kept to that many significant
// decimal digits (1 ... 4). The range is -highest_ns ... highest_ns (1 ... INT64_MAX / 2), widened
// to the end of the last bucket; what lies outside is counted in one bucket at each end. 3 digits
// and 10 s take 400 KB, 2 digits 60 KB; pages never counted in stay untouched. The caller owns it
// until hrt_histogram_destroy. 0, -EINVAL for arguments out of range, or -ENOMEM.
int hrt_histogram_create(int significant_digits, int64_t highest_ns,
                         hrt_histogram *_Nullable *_Nonnull out_histogram);

// NULL is allowed. No thread may be using it.
void hrt_histogram_destroy(hrt_histogram *_Nullable histogram);

// Counts one value; any int64_t. O(1). The recording thread only.
void hrt_histogram_record(hrt_histogram *_Nonnull histogram, int64_t value_ns) HRT_NONBLOCKING;

// Adds all that `from` counted; `from` stays as it is, and may be recorded into meanwhile.
// O(buckets). The recording thread of `into` only. 0, or -EINVAL if the two were not created with
// the same arguments.
int hrt_histogram_add(hrt_histogram *_Nonnull into, const hrt_histogram *_Nonnull from);

// Exact, not rounded to buckets. Any thread. O(1).
// With nothing recorded, min_ns is INT64_MAX and max_ns is INT64_MIN. The sum saturates: it stays
// at INT64_MIN or INT64_MAX once it got there.
uint64_t hrt_histogram_count(const hrt_histogram *_Nonnull histogram);
int64_t hrt_histogram_min_ns(const hrt_histogram *_Nonnull histogram);
int64_t hrt_histogram_max_ns(const hrt_histogram *_Nonnull histogram);
int64_t hrt_histogram_sum_ns(const hrt_histogram *_Nonnull histogram);

// How many values were below zero. Any thread. O(1).
uint64_t hrt_histogram_early_count(const hrt_histogram *_Nonnull histogram);

// The least value such that `percentile` per cent of all recorded ones (0 ... 100, clamped) are not
// above it; the high end of its bucket, as HdrHistogram has it, but never outside min_ns ...
// max_ns. 0 if nothing is recorded. Any thread. O(buckets).
int64_t hrt_histogram_percentile_ns(const hrt_histogram *_Nonnull histogram, double percentile);

// The next bucket with a count, in order of value. Begin with a cursor of 0, and leave it alone
// between calls. False after the last. Any thread. O(buckets) for all of them.
bool hrt_histogram_next(const hrt_histogram *_Nonnull histogram, size_t *_Nonnull cursor,
                        hrt_histogram_bucket *_Nonnull out_bucket);

#endif

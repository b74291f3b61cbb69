// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_HISTOGRAM_H
#define HRT_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hrt_nonblocking.h"
#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// A histogram of lateness in log-linear buckets, laid out like HdrHistogram's, so that it can be
// written in HdrHistogram's formats without loss. Unlike in HdrHistogram, values are signed: a
// timer that fired early has negative lateness, which must be visible and not clamped.
//
// It is written in C because it is on the fire path: recording is a shift, a load and a store, with
// no lock and no allocation.
//
// One thread records. Other threads may read a histogram, or add it to their own, at any time: each
// number was true at some moment, but a value that is being recorded may not yet be included in all
// of them.
typedef struct hrt_histogram hrt_histogram;

// A range of values, both ends included, that are counted together.
typedef struct {
    int64_t low_ns;
    int64_t high_ns;
    uint64_t count;
} hrt_histogram_bucket;

// Creates an empty histogram and allocates all its memory now. A value keeps significant_digits
// decimal digits (1 ... 4). The range is -highest_ns ... highest_ns (1 ... INT64_MAX / 2), widened
// to the end of the last bucket; values outside are counted in one bucket at each end. 3 digits and
// 10 s take 400 KB, 2 digits 60 KB. Pages in which nothing is counted stay untouched, but for those
// of 0 ... 1 ms: recording such a value causes no page fault. The caller owns the histogram until
// hrt_histogram_destroy. Returns 0, -EINVAL for arguments out of range, or -ENOMEM.
int hrt_histogram_create(int significant_digits, int64_t highest_ns,
                         hrt_histogram *_Nullable *_Nonnull out_histogram);

// Frees the histogram. NULL is allowed. No thread may be using it.
void hrt_histogram_destroy(hrt_histogram *_Nullable histogram);

// Counts one value, which may be any int64_t. O(1). Only the recording thread may call it.
void hrt_histogram_record(hrt_histogram *_Nonnull histogram, int64_t value_ns) HRT_NONBLOCKING;

// Adds all counts of `from`. `from` does not change, and may be recorded into meanwhile.
// O(buckets). Only the recording thread of `into` may call it. Returns 0, or -EINVAL if the two
// differ in digits or in their widened ranges.
int hrt_histogram_add(hrt_histogram *_Nonnull into, const hrt_histogram *_Nonnull from);

// The four functions below return exact values, not rounded to buckets. Any thread. O(1). With
// nothing recorded, min_ns is INT64_MAX and max_ns is INT64_MIN. The sum saturates: once it reaches
// INT64_MIN or INT64_MAX it stays there.
uint64_t hrt_histogram_count(const hrt_histogram *_Nonnull histogram);
int64_t hrt_histogram_min_ns(const hrt_histogram *_Nonnull histogram);
int64_t hrt_histogram_max_ns(const hrt_histogram *_Nonnull histogram);
int64_t hrt_histogram_sum_ns(const hrt_histogram *_Nonnull histogram);

// Returns how many values were below zero. Any thread. O(1).
uint64_t hrt_histogram_early_count(const hrt_histogram *_Nonnull histogram);

// Returns the least value such that `percentile` per cent (0 ... 100, clamped) of all recorded
// values are not above it. The result is the high end of its bucket, as in HdrHistogram, but never
// outside min_ns ... max_ns. Returns 0 if nothing is recorded. Any thread. O(buckets).
int64_t hrt_histogram_percentile_ns(const hrt_histogram *_Nonnull histogram, double percentile);

// Writes the next bucket with a count, in order of value. Start with a cursor of 0, and do not
// change it between calls. Returns false after the last bucket. Any thread. O(buckets) for all
// calls together.
bool hrt_histogram_next(const hrt_histogram *_Nonnull histogram, size_t *_Nonnull cursor,
                        hrt_histogram_bucket *_Nonnull out_bucket);

#ifdef __cplusplus
}
#endif

#endif

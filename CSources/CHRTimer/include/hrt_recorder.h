// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_RECORDER_H
#define HRT_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "hrt_nullability.h"

#ifdef __cplusplus
extern "C" {
#endif

// The latest events of some threads, like an aeroplane's flight recorder: written without a lock, a
// system call or an allocation, and read at any time.

typedef struct {
    int64_t begin_ns;  // CLOCK_MONOTONIC
    int64_t end_ns;    // equal to begin_ns for an event that takes no time
    int64_t value;     // its meaning depends on the kind
    uint32_t kind;
    uint32_t thread;            // gettid(2), written by hrt_recorder_add
    uint32_t slot, generation;  // of the timer
} hrt_record;

typedef struct hrt_recorder hrt_recorder;

// Creates a recorder. `capacity` is rounded up to a power of two, within 16 ... 2^24. Returns 0 or
// -ENOMEM.
int hrt_recorder_create(size_t capacity, hrt_recorder *_Nullable *_Nonnull recorder);
void hrt_recorder_destroy(hrt_recorder *_Nonnull recorder);

// Adds a record. Any thread. If two threads come to the same place, one of them a whole ring behind
// the other, one of the two omits its record.
void hrt_recorder_add(hrt_recorder *_Nonnull recorder, const hrt_record *_Nonnull record);

// Copies the latest records, `count` at most, the oldest first; those being written are left out.
// Returns how many it copied. Any thread.
size_t hrt_recorder_copy(const hrt_recorder *_Nonnull recorder, hrt_record *_Nonnull records,
                         size_t count);
size_t hrt_recorder_capacity(const hrt_recorder *_Nonnull recorder);

#ifdef __cplusplus
}
#endif

#endif

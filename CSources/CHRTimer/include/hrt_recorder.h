#ifndef HRT_RECORDER_H
#define HRT_RECORDER_H

#include <stddef.h>
#include <stdint.h>

// The latest events of some threads, as an aeroplane's recorder has them: written without a lock, a
// system call or an allocation, and read at any time.

typedef struct {
    int64_t begin_ns;  // CLOCK_MONOTONIC
    int64_t end_ns;    // the same instant for what takes no time
    int64_t value;     // what it means depends on the kind
    uint32_t kind;
    uint32_t thread;  // gettid(2), written by hrt_recorder_add
    uint32_t slot, generation;  // of the timer
} hrt_record;

typedef struct hrt_recorder hrt_recorder;

// `capacity` is rounded up to a power of two. 0 or -ENOMEM.
int hrt_recorder_create(size_t capacity, hrt_recorder *_Nullable *_Nonnull recorder);
void hrt_recorder_destroy(hrt_recorder *_Nonnull recorder);

// Any thread. Of two threads that come to the same place, one a whole ring behind the other, one
// leaves its record out.
void hrt_recorder_add(hrt_recorder *_Nonnull recorder, const hrt_record *_Nonnull record);

// Copies the records that are there, the oldest first; those being written are left out. Gives
// their number. Any thread.
size_t hrt_recorder_copy(const hrt_recorder *_Nonnull recorder, hrt_record *_Nonnull records,
                         size_t count);
size_t hrt_recorder_capacity(const hrt_recorder *_Nonnull recorder);

#endif

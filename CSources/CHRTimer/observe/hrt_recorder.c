// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#ifdef __linux__
#include "../include/hrt_recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../include/hrt_thread.h"

enum { WORDS = sizeof(hrt_record) / sizeof(uint64_t) };
_Static_assert(sizeof(hrt_record) % sizeof(uint64_t) == 0, "copied by words");

// Each place has a sequence lock (Boehm 2012, "Can seqlocks get along with programming language
// memory models?"): the sequence is odd while the place is written, and otherwise twice the number
// of its record, plus 2.
typedef struct {
    _Atomic uint64_t sequence;
    _Atomic uint64_t words[WORDS];
} place;

struct hrt_recorder {
    size_t capacity;
    _Atomic uint64_t next;
    place places[];
};

int hrt_recorder_create(size_t capacity, hrt_recorder **recorder) {
    size_t rounded = 16;
    while (rounded < capacity && rounded < (size_t)1 << 24) rounded *= 2;
    hrt_recorder *made = calloc(1, sizeof *made + rounded * sizeof(place));
    if (!made) return -ENOMEM;
    made->capacity = rounded;
    *recorder = made;
    return 0;
}

void hrt_recorder_destroy(hrt_recorder *recorder) { free(recorder); }

size_t hrt_recorder_capacity(const hrt_recorder *recorder) { return recorder->capacity; }

// The thread's id, read once: each reading would be a system call.
static _Thread_local uint32_t own_thread;

void hrt_recorder_add(hrt_recorder *recorder, const hrt_record *record) {
    uint64_t number = atomic_fetch_add_explicit(&recorder->next, 1, memory_order_relaxed);
    place *at = &recorder->places[number & (recorder->capacity - 1)];
    uint64_t before = atomic_load_explicit(&at->sequence, memory_order_relaxed);
    if (before & 1 || before > 2 * number ||
        !atomic_compare_exchange_strong_explicit(&at->sequence, &before, 2 * number + 1,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return;
    atomic_thread_fence(memory_order_release);
    uint64_t words[WORDS];
    hrt_record marked = *record;
    if (!own_thread) own_thread = (uint32_t)hrt_thread_id();
    marked.thread = own_thread;
    memcpy(words, &marked, sizeof words);
    for (int index = 0; index < WORDS; index++)
        atomic_store_explicit(&at->words[index], words[index], memory_order_relaxed);
    atomic_store_explicit(&at->sequence, 2 * number + 2, memory_order_release);
}

size_t hrt_recorder_copy(const hrt_recorder *recorder, hrt_record *records, size_t count) {
    uint64_t end = atomic_load_explicit(&recorder->next, memory_order_acquire);
    uint64_t length = end < recorder->capacity ? end : recorder->capacity;
    if (length > count) length = count;
    size_t copied = 0;
    for (uint64_t number = end - length; number < end; number++) {
        const place *at = &recorder->places[number & (recorder->capacity - 1)];
        if (atomic_load_explicit(&at->sequence, memory_order_acquire) != 2 * number + 2) continue;
        uint64_t words[WORDS];
        for (int index = 0; index < WORDS; index++)
            words[index] = atomic_load_explicit(&at->words[index], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&at->sequence, memory_order_relaxed) != 2 * number + 2) continue;
        memcpy(&records[copied++], words, sizeof words);
    }
    return copied;
}
#endif
#endif

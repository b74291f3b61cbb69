// SPDX-License-Identifier: Apache-2.0
#include "cbench_why.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hrt_clock.h"
#include "hrt_thread.h"

cbench_why_fire *cbench_why_room;
static size_t capacity;
static _Atomic size_t next;
static _Atomic uint32_t generation;

// The state of a thread that fires.
typedef struct {
    uint32_t generation;
    int file;  // descriptor plus 1; 0 if none
    int64_t end_ns;
    hrt_thread_counts counts;
} of_thread;
static _Thread_local of_thread own;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void close_file(void *file) { close((int)(intptr_t)file - 1); }
static void make_key(void) { pthread_key_create(&key, close_file); }

void cbench_why_start(cbench_why_fire *fires, size_t count) {
    capacity = count;
    atomic_store(&next, 0);
    atomic_fetch_add(&generation, 1);
    __atomic_store_n(&cbench_why_room, fires, __ATOMIC_RELEASE);
}

size_t cbench_why_stop(void) {
    __atomic_store_n(&cbench_why_room, NULL, __ATOMIC_SEQ_CST);
    size_t count = atomic_load(&next);
    return count < capacity ? count : capacity;
}

void cbench_why_note_counts(int64_t deadline_ns, int64_t woke_ns) {
    cbench_why_fire *fires = __atomic_load_n(&cbench_why_room, __ATOMIC_ACQUIRE);
    if (!fires) return;
    if (!own.file) {
        own.file = hrt_thread_counts_open() + 1;
        pthread_once(&once, make_key);
        if (own.file) pthread_setspecific(key, (void *)(intptr_t)own.file);
    }
    hrt_thread_counts counts;
    hrt_thread_counts_read(own.file - 1, &counts);
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    size_t index = atomic_fetch_add(&next, 1);
    if (index < capacity) {
        fires[index] = (cbench_why_fire){
            .deadline_ns = deadline_ns,
            .woke_ns = woke_ns,
            .before_ns = own.generation == now ? own.end_ns : -1,
            .thread = hrt_thread_id(),
            .before = own.counts,
            .after = counts,
        };
    }
    own.generation = now;
    own.counts = counts;
    own.end_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC);
}

// SPDX-License-Identifier: Apache-2.0
// The simple way to share timers between threads: one mutex around a binary heap and an array of
// handlers. No thread waits for the next deadline, and none must be woken: a lower bound for all
// timers that have such a thread.
#include <pthread.h>
#include <stdlib.h>

#include "cbench_kernel.h"
#include "ops_rival.h"

struct cbench_locked_heap {
    pthread_mutex_t mutex;
    void *heap;
    const void *handlers[];
};

cbench_locked_heap *cbench_locked_heap_create(size_t timers) {
    cbench_locked_heap *locked = calloc(1, sizeof *locked + timers * sizeof locked->handlers[0]);
    if (locked == NULL) return NULL;
    locked->heap = cbench_rival_binary_heap.create(timers);
    if (locked->heap == NULL) {
        free(locked);
        return NULL;
    }
    pthread_mutex_init(&locked->mutex, NULL);
    return locked;
}

void cbench_locked_heap_destroy(cbench_locked_heap *locked) {
    pthread_mutex_destroy(&locked->mutex);
    cbench_rival_binary_heap.destroy(locked->heap);
    free(locked);
}

void cbench_locked_heap_add(cbench_locked_heap *locked, size_t timer, int64_t deadline_ns,
                            const void *handler) {
    pthread_mutex_lock(&locked->mutex);
    cbench_rival_binary_heap.add(locked->heap, timer, deadline_ns);
    locked->handlers[timer] = handler;
    pthread_mutex_unlock(&locked->mutex);
}

const void *cbench_locked_heap_replace(cbench_locked_heap *locked, size_t timer,
                                       int64_t deadline_ns, const void *handler) {
    pthread_mutex_lock(&locked->mutex);
    cbench_rival_binary_heap.replace(locked->heap, timer, deadline_ns);
    const void *old = locked->handlers[timer];
    locked->handlers[timer] = handler;
    pthread_mutex_unlock(&locked->mutex);
    return old;
}

const void *cbench_locked_heap_cancel(cbench_locked_heap *locked, size_t timer) {
    pthread_mutex_lock(&locked->mutex);
    cbench_rival_binary_heap.cancel(locked->heap, timer);
    const void *old = locked->handlers[timer];
    pthread_mutex_unlock(&locked->mutex);
    return old;
}

void cbench_locked_heap_move(cbench_locked_heap *locked, size_t timer, int64_t deadline_ns) {
    pthread_mutex_lock(&locked->mutex);
    cbench_rival_binary_heap.move(locked->heap, timer, deadline_ns);
    pthread_mutex_unlock(&locked->mutex);
}

const void *cbench_locked_heap_handler(const cbench_locked_heap *locked, size_t timer) {
    return locked->handlers[timer];
}

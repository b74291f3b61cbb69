// SPDX-License-Identifier: Apache-2.0
// Checks a loop on its own epoll set. It needs neither Swift nor libevent, so that it can be built
// with another C library or for another architecture. Aborts at the first check that fails.
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hrt_clock.h"
#include "hrt_loop.h"

enum { MS = 1000000, PIPES = 100 };

static void require(bool holds, const char *sentence) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", sentence);
    abort();
}

static int64_t now_ns(void) { return hrt_clock_now_ns(HRT_CLOCK_MONOTONIC); }

static void check_deadlines(hrt_loop *loop) {
    int64_t best_ns = INT64_MAX;
    for (int number = 0; number < 50; number++) {
        int64_t deadline_ns = now_ns() + number * MS / 10;
        require(hrt_loop_wait(loop, deadline_ns) == 0, "nothing but the deadline ends a wait");
        int64_t late_ns = now_ns() - deadline_ns;
        require(late_ns >= 0, "no wait ends early");
        if (late_ns < best_ns) best_ns = late_ns;
    }
    require(best_ns < 20 * MS, "the best of them is not late");
}

static void *wake_later(void *loop) {
    struct timespec delay = hrt_timespec_from_ns(20 * MS);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL);
    hrt_loop_wake(loop);
    return NULL;
}

static void check_wake(hrt_loop *loop) {
    pthread_t thread;
    require(pthread_create(&thread, NULL, wake_later, loop) == 0, "a thread can be made");
    require(hrt_loop_wait(loop, HRT_NEVER) == HRT_LOOP_WOKEN, "a wake ends a wait without end");
    pthread_join(thread, NULL);
    hrt_loop_wake(loop);
    require(hrt_loop_wait(loop, HRT_NEVER) == HRT_LOOP_WOKEN, "a wake before the wait ends it");
    require(hrt_loop_wait(loop, now_ns() + 2 * MS) == 0, "and only one");
}

static size_t found(hrt_loop *loop, const hrt_ready **ready) {
    require(hrt_loop_wait(loop, HRT_NEVER) == HRT_LOOP_READY, "what is ready ends a wait");
    return hrt_loop_take_ready(loop, ready);
}

static void check_watches(hrt_loop *loop) {
    hrt_watch *reader, *writer, *edge;
    const hrt_ready *ready;
    uint64_t one = 1;
    int fd = eventfd(0, EFD_NONBLOCK), other = eventfd(0, EFD_NONBLOCK);
    require(hrt_loop_watch(loop, fd, HRT_READABLE, 7, &reader) == 0, "it can be watched");
    require(hrt_loop_wait(loop, now_ns() + 2 * MS) == 0, "what is not ready is not found");
    require(write(fd, &one, sizeof one) == sizeof one, "it becomes readable");
    for (int round = 0; round < 2; round++) {
        require(found(loop, &ready) == 1 && ready->tag == 7 && ready->events == HRT_READABLE,
                "and is found in every wait");
    }
    require(hrt_loop_watch(loop, fd, HRT_WRITABLE, 8, &writer) == 0, "twice, even");
    size_t count = found(loop, &ready);
    require(count == 2, "both watches are told");
    hrt_loop_unwatch(loop, reader);
    require(found(loop, &ready) == 1 && ready->tag == 8, "the other stays");
    hrt_loop_unwatch(loop, writer);
    require(hrt_loop_wait(loop, now_ns() + 2 * MS) == 0, "unwatched it is not found");
    require(hrt_loop_watch(loop, other, HRT_READABLE | HRT_EDGE, 9, &edge) == 0, "by edges");
    for (int round = 0; round < 3; round++) {
        require(write(other, &one, sizeof one) == sizeof one, "it gets more");
        require(found(loop, &ready) == 1 && ready->tag == 9, "each is found");
        require(hrt_loop_wait(loop, now_ns() + MS) == 0, "once");
    }
    close(other);
    hrt_loop_unwatch(loop, edge);
    close(fd);
    require(hrt_loop_can_watch(fd) == -EBADF, "what is closed cannot be watched");
}

static void check_many(hrt_loop *loop) {
    hrt_watch *watches[PIPES];
    int ends[PIPES][2];
    bool is_found[PIPES] = {false};
    for (uint64_t index = 0; index < PIPES; index++) {
        require(pipe(ends[index]) == 0, "a pipe can be made");
        require(write(ends[index][1], "x", 1) == 1, "and written");
        int status = hrt_loop_watch(loop, ends[index][0], HRT_READABLE, index, &watches[index]);
        require(status == 0, "and watched");
    }
    for (int wait = 0; wait < 8; wait++) {
        const hrt_ready *ready;
        size_t count = found(loop, &ready);
        for (size_t index = 0; index < count; index++) {
            char byte;
            is_found[ready[index].tag] = true;
            require(read(ends[ready[index].tag][0], &byte, 1) == 1, "it is readable");
        }
        if (hrt_loop_wait(loop, 0) == 0) break;
    }
    for (int index = 0; index < PIPES; index++) {
        require(is_found[index], "each of many is found");
        hrt_loop_unwatch(loop, watches[index]);
        close(ends[index][0]);
        close(ends[index][1]);
    }
}

static void check_host(void) {
    hrt_loop *outer, *inner;
    hrt_watch *watch;
    const hrt_ready *ready;
    require(hrt_loop_create(&outer) == 0 && hrt_loop_create(&inner) == 0, "two loops can be made");
    require(hrt_loop_watch(outer, hrt_loop_descriptor(inner), HRT_READABLE, 1, &watch) == 0,
            "a loop can be watched");
    int64_t deadline_ns = now_ns() + 5 * MS;
    hrt_loop_arm(inner, deadline_ns);
    require(found(outer, &ready) == 1 && now_ns() >= deadline_ns, "and is ready at its deadline");
    require(hrt_loop_wait(inner, 0) == 0, "it is due");
    hrt_loop_unwatch(outer, watch);
    hrt_loop_destroy(inner);
    hrt_loop_destroy(outer);
}

int main(void) {
    hrt_loop *loop;
    require(hrt_loop_create(&loop) == 0, "a loop can be made");
    hrt_loop *hosted;
    struct event_base *base = (struct event_base *)loop;  // never touched
    require(hrt_loop_create_on(base, &hosted) == -ENOTSUP, "and none on an event_base");
    check_deadlines(loop);
    check_wake(loop);
    check_watches(loop);
    check_deadlines(loop);
    check_many(loop);
    hrt_loop_destroy(loop);
    check_host();
    puts("loop: never early, woken, all that was ready was found");
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#ifndef CTEST_EVENT_BASE_H
#define CTEST_EVENT_BASE_H

#include <stdint.h>

// libevent, for tests with a program that hosts a loop. In C, because libevent's headers cannot
// be imported beside Swift's Glibc module: both have a struct fd_set, with members of different
// names.

struct event_base;
struct event;

typedef enum {
    CTEST_UNTIL_NO_EVENT,  // event_base_dispatch
    CTEST_ONCE,            // EVLOOP_ONCE: waits, and comes back after what it found
    CTEST_WITHOUT_WAITING  // EVLOOP_NONBLOCK
} ctest_base_run_mode;

// Creates a base on the best backend whose name is not in `avoided`, a list with commas. It has no
// locks, as usual unless a program requests them.
struct event_base *_Nonnull ctest_base_create(const char *_Nonnull avoided);
void ctest_base_free(struct event_base *_Nonnull base);

// Runs the base. Returns 1 if no event was left to wait for.
int ctest_base_run(struct event_base *_Nonnull base, ctest_base_run_mode mode);

// Makes a run end delay_us from now.
void ctest_base_stop_after(struct event_base *_Nonnull base, int32_t delay_us);

// Returns the number of events that are added, without libevent's own.
int ctest_base_event_count(struct event_base *_Nonnull base);

// Adds an event of the host's, which adds 1 to *counter delay_us from now.
struct event *_Nonnull ctest_base_count_after(struct event_base *_Nonnull base, int32_t delay_us,
                                              int32_t *_Nonnull counter);
void ctest_event_free(struct event *_Nonnull event);

#endif

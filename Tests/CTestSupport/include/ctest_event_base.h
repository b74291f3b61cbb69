#ifndef CTEST_EVENT_BASE_H
#define CTEST_EVENT_BASE_H

#include <stdint.h>

// libevent as a program has it that hosts a loop. In C, because libevent's headers cannot be
// imported beside Swift's Glibc module: both have a struct fd_set, with members of different names.

struct event_base;
struct event;

typedef enum {
    CTEST_UNTIL_NO_EVENT,  // event_base_dispatch
    CTEST_ONCE,            // EVLOOP_ONCE: waits, and comes back after what it found
    CTEST_WITHOUT_WAITING  // EVLOOP_NONBLOCK
} ctest_base_run_mode;

// On the best backend whose name is not in `avoided`, a list with commas; without locks, as ever
// unless a program asks for them.
struct event_base *_Nonnull ctest_base_create(const char *_Nonnull avoided);
void ctest_base_free(struct event_base *_Nonnull base);

// 1 if no event was left to wait for.
int ctest_base_run(struct event_base *_Nonnull base, ctest_base_run_mode mode);

// Has a run end so long from now.
void ctest_base_stop_after(struct event_base *_Nonnull base, int32_t delay_us);

// Events that are added, libevent's own not counted.
int ctest_base_event_count(struct event_base *_Nonnull base);

// An event of the host's: adds 1 to *counter, so long from now.
struct event *_Nonnull ctest_base_count_after(struct event_base *_Nonnull base, int32_t delay_us,
                                              int32_t *_Nonnull counter);
void ctest_event_free(struct event *_Nonnull event);

#endif

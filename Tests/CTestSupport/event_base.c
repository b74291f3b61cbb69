// SPDX-License-Identifier: Apache-2.0
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "ctest_event_base.h"

struct event_base *ctest_base_create(const char *avoided) {
    struct event_config *config = event_config_new();
    char *names = strdup(avoided), *rest = names, *name;
    while ((name = strsep(&rest, ",")) != NULL) event_config_avoid_method(config, name);
    struct event_base *base = event_base_new_with_config(config);
    free(names);
    event_config_free(config);
    if (base == NULL) abort();
    return base;
}

void ctest_base_free(struct event_base *base) { event_base_free(base); }

int ctest_base_run(struct event_base *base, ctest_base_run_mode mode) {
    switch (mode) {
    case CTEST_UNTIL_NO_EVENT: return event_base_dispatch(base);
    case CTEST_ONCE: return event_base_loop(base, EVLOOP_ONCE);
    case CTEST_WITHOUT_WAITING: return event_base_loop(base, EVLOOP_NONBLOCK);
    }
    return -1;
}

void ctest_base_stop_after(struct event_base *base, int32_t delay_us) {
    struct timeval delay = {.tv_usec = delay_us};
    event_base_loopexit(base, &delay);
}

int ctest_base_event_count(struct event_base *base) {
    return event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED);
}

static void count(evutil_socket_t fd, short events, void *counter) {
    (void)fd, (void)events;
    ++*(int32_t *)counter;
}

struct event *ctest_base_count_after(struct event_base *base, int32_t delay_us, int32_t *counter) {
    struct timeval delay = {.tv_usec = delay_us};
    struct event *event = event_new(base, -1, 0, count, counter);
    if (event == NULL || event_add(event, &delay) != 0) abort();
    return event;
}

void ctest_event_free(struct event *event) { event_free(event); }

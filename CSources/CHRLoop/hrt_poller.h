// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_POLLER_H
#define HRT_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "include/hrt_loop.h"

// Finds out for a loop which of its descriptors are ready. It is a libevent event_base
// (HRT_LIBEVENT, the package's trait Libevent), or an epoll set of our own. One thread at a time.
typedef struct hrt_poller hrt_poller;

// One descriptor that a poller looks at. A poller may have several interests in one descriptor.
typedef struct hrt_interest hrt_interest;

// Gets HRT_READABLE | HRT_WRITABLE, limited to the interest's events. May remove interests, its own
// too.
typedef void (*hrt_on_events)(void *context, uint32_t events);

// Creates a poller. Returns 0, -ENOMEM, or the errno of epoll_create1(2) and, with libevent,
// pipe2(2). `fd` is any open descriptor.
int hrt_poller_create(int fd, hrt_poller **out_poller);

// Creates a poller on an event_base of a host's. After hrt_poller_call_host the base calls on_host,
// once after any number of other events. Returns 0, -ENOMEM; -ENOTSUP without libevent.
struct event_base;
int hrt_poller_create_on(struct event_base *base, void (*on_host)(void *context), void *context,
                         hrt_poller **out_poller);
void hrt_poller_call_host(hrt_poller *poller);

// Frees the poller; leaves a host's base as it was. All interests must have been removed.
void hrt_poller_destroy(hrt_poller *poller);

// Adds an interest. `events` may have HRT_EDGE, on which all interests in a descriptor must agree.
// Returns 0, -ENOMEM, or the errno with which epoll_ctl(2) refuses the descriptor.
int hrt_poller_add(hrt_poller *poller, int fd, uint32_t events, hrt_on_events on_events,
                   void *context, hrt_interest **out_interest);
void hrt_poller_remove(hrt_poller *poller, hrt_interest *interest);

// Calls back for all descriptors that are ready. If none is, and `waits` is set, it waits until one
// is. Must not be called on a host's base.
void hrt_poller_run(hrt_poller *poller, bool waits);

// Returns the descriptor that becomes readable when a run would call back. `fd` is a descriptor
// that the poller looks at for HRT_READABLE | HRT_EDGE. -ENOTSUP on a host's base.
int hrt_poller_descriptor(const hrt_poller *poller, int fd);

#endif

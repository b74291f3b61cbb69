// SPDX-License-Identifier: Apache-2.0
#ifndef HRT_EVENT_H
#define HRT_EVENT_H

#if defined(__has_include)
#if !__has_include(<event2/event.h>)
// One line that says what to do, and ends the build before the errors that would follow.
#pragma clang diagnostic fatal "-W#warnings"
#warning "apt install libevent-dev, or leave out HRTimer's trait Libevent (traits: [])"
#endif
#endif
#include <event2/event.h>

#include "../CHRTimer/hrt_status.h"

// Makes a base call back as long as the descriptor is ready. Returns 0, -ENOMEM, or the errno with
// which the base's backend refuses the descriptor.
static inline int hrt_event_add(struct event_base *base, int fd, short events,
                                event_callback_fn callback, void *context,
                                struct event **out_event) {
    struct event *event;
    int status =
        HRT_DONE((event = event_new(base, fd, events | EV_PERSIST, callback, context)) != NULL);
    if (status == 0) status = HRT_DONE(event_add(event, NULL) == 0);
    if (status == 0) {
        *out_event = event;
    } else if (event != NULL) {
        event_free(event);
    }
    return status;
}

#endif

#ifndef HRT_EVENT_H
#define HRT_EVENT_H

#include <event2/event.h>

#include "../hrt_status.h"

// Has a base call back as long as the descriptor is ready. 0, -ENOMEM, or the errno with which the
// base's backend refuses the descriptor.
static inline int hrt_event_add(struct event_base *base, int fd, short events,
                                event_callback_fn callback, void *context,
                                struct event **out_event) {
    errno = ENOMEM;  // for the failures of libevent that set none
    struct event *event = event_new(base, fd, events | EV_PERSIST, callback, context);
    int status = hrt_status(event == NULL ? -1 : event_add(event, NULL));
    if (status == 0) {
        *out_event = event;
    } else if (event != NULL) {
        event_free(event);
    }
    return status;
}

#endif

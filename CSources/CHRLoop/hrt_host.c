// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include <errno.h>
#include <stdlib.h>

#include "include/hrt_loop.h"

#ifdef HRT_LIBEVENT

#include "hrt_event.h"

struct hrt_host {
    struct event *event;
    void (*on_ready)(void *context);
    void *context;
};

static void on_event(evutil_socket_t fd, short events, void *context) {
    (void)fd, (void)events;
    // Copied, because on_ready may remove the host.
    hrt_host host = *(hrt_host *)context;
    host.on_ready(host.context);
}

int hrt_host_add(struct event_base *base, int fd, void (*on_ready)(void *context), void *context,
                 hrt_host **out_host) {
    hrt_host *host = malloc(sizeof *host);
    if (host == NULL) return -ENOMEM;
    *host = (hrt_host){.on_ready = on_ready, .context = context};
    int status = hrt_event_add(base, fd, EV_READ, on_event, host, &host->event);
    if (status == 0) {
        *out_host = host;
    } else {
        free(host);
    }
    return status;
}

void hrt_host_remove(hrt_host *host) {
    event_free(host->event);
    free(host);
}

#else

int hrt_host_add(struct event_base *base, int fd, void (*on_ready)(void *context), void *context,
                 hrt_host **out_host) {
    (void)base, (void)fd, (void)on_ready, (void)context, (void)out_host;
    return -ENOTSUP;
}

void hrt_host_remove(hrt_host *host) { (void)host; }

#endif
#endif

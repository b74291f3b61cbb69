#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "../include/hrt_loop.h"

struct hrt_host {
    struct event *event;
    void (*on_ready)(void *context);
    void *context;
};

static void on_event(evutil_socket_t fd, short events, void *context) {
    (void)fd, (void)events;
    // Copied: it may remove itself.
    hrt_host host = *(hrt_host *)context;
    host.on_ready(host.context);
}

int hrt_host_add(struct event_base *base, int fd, void (*on_ready)(void *context), void *context,
                 hrt_host **out_host) {
    hrt_host *host = malloc(sizeof *host);
    if (host == NULL) return -ENOMEM;
    *host = (hrt_host){.on_ready = on_ready, .context = context};
    host->event = event_new(base, fd, EV_READ | EV_PERSIST, on_event, host);
    errno = ENOMEM;  // for the failures of libevent that set none
    if (host->event == NULL || event_add(host->event, NULL) != 0) {
        int error = errno;
        if (host->event != NULL) event_free(host->event);
        free(host);
        return -error;
    }
    *out_host = host;
    return 0;
}

void hrt_host_remove(hrt_host *host) {
    event_free(host->event);
    free(host);
}

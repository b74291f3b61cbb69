// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#ifdef HRT_LIBEVENT

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hrt_event.h"
#include "hrt_poller.h"

struct hrt_poller {
    struct event_base *base;
    struct event *host_event;  // NULL on a base of our own
    void (*on_host)(void *context);
    void *host_context;
};

struct hrt_interest {
    struct event *event;
    hrt_on_events on_events;
    void *context;
};

// Makes a pipe in one of the three ways that libevent tries (evutil_make_internal_pipe_ in
// evutil.c).
static int make_pipe(int ends[2]) {
    if (HRT_STATUS(pipe2(ends, O_NONBLOCK | O_CLOEXEC)) == 0 || HRT_STATUS(pipe(ends)) == 0)
        return 0;
    return HRT_STATUS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
}

// libevent 2.1 ends the process by exit(3) if it cannot make its signal pipe. So this function
// tries to make one first, with one more descriptor open in place of the epoll set. Another thread
// may still take the last descriptors in between.
static int probe_base(int fd) {
    int set = (int)HRT_CALL(fcntl(fd, F_DUPFD_CLOEXEC, 0)), ends[2];
    if (set < 0) return set;
    int status = make_pipe(ends);
    if (status == 0) {
        close(ends[0]);
        close(ends[1]);
    }
    close(set);
    return status;
}

static struct event_base *make_base(void) {
    struct event_config *config = event_config_new();
    if (config == NULL) return NULL;
    // No lock, because only one thread uses the base. No environment, because EVENT_NOEPOLL and the
    // like are meant for the program's own bases.
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV);
    // If epoll_create1 fails for want of descriptors, libevent would fall back to poll(2).
    event_config_avoid_method(config, "poll");
    event_config_avoid_method(config, "select");
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

int hrt_poller_create(int fd, hrt_poller **out_poller) {
    int status = probe_base(fd);
    if (status != 0) return status;
    hrt_poller *poller = calloc(1, sizeof *poller);
    if (poller == NULL) return -ENOMEM;
    status = HRT_DONE((poller->base = make_base()) != NULL);
    if (status == 0) {
        *out_poller = poller;
    } else {
        free(poller);
    }
    return status;
}

static void on_host_event(evutil_socket_t fd, short events, void *context) {
    (void)fd, (void)events;
    hrt_poller *poller = context;
    poller->on_host(poller->host_context);
}

int hrt_poller_create_on(struct event_base *base, void (*on_host)(void *context), void *context,
                         hrt_poller **out_poller) {
    hrt_poller *poller = calloc(1, sizeof *poller);
    if (poller == NULL) return -ENOMEM;
    *poller = (hrt_poller){.base = base, .on_host = on_host, .host_context = context};
    int status =
        HRT_DONE((poller->host_event = event_new(base, -1, 0, on_host_event, poller)) != NULL);
    if (status == 0) {
        *out_poller = poller;
    } else {
        free(poller);
    }
    return status;
}

// The host's event has the priority of the others: it runs after the events already active.
void hrt_poller_call_host(hrt_poller *poller) { event_active(poller->host_event, 0, 0); }

void hrt_poller_destroy(hrt_poller *poller) {
    if (poller->host_event != NULL) {
        event_free(poller->host_event);
    } else {
        event_base_free(poller->base);
    }
    free(poller);
}

static void on_event(evutil_socket_t fd, short events, void *context) {
    (void)fd;
    hrt_interest *interest = context;
    interest->on_events(interest->context, ((events & EV_READ) != 0 ? HRT_READABLE : 0) |
                                               ((events & EV_WRITE) != 0 ? HRT_WRITABLE : 0));
}

int hrt_poller_add(hrt_poller *poller, int fd, uint32_t events, hrt_on_events on_events,
                   void *context, hrt_interest **out_interest) {
    hrt_interest *interest = malloc(sizeof *interest);
    if (interest == NULL) return -ENOMEM;
    *interest = (hrt_interest){.on_events = on_events, .context = context};
    short wanted = ((events & HRT_READABLE) != 0 ? EV_READ : 0) |
                   ((events & HRT_WRITABLE) != 0 ? EV_WRITE : 0) |
                   ((events & HRT_EDGE) != 0 ? EV_ET : 0);
    int status = hrt_event_add(poller->base, fd, wanted, on_event, interest, &interest->event);
    if (status == 0) {
        *out_interest = interest;
    } else {
        free(interest);
    }
    return status;
}

void hrt_poller_remove(hrt_poller *poller, hrt_interest *interest) {
    (void)poller;
    event_free(interest->event);
    free(interest);
}

// EVLOOP_NONBLOCK alone would repeat while it finds anything, so it is combined with EVLOOP_ONCE.
void hrt_poller_run(hrt_poller *poller, bool waits) {
    int flags = waits ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK;
    // libevent itself continues after a signal.
    hrt_must("event_base_loop", HRT_DONE(event_base_loop(poller->base, flags) >= 0));
}

int hrt_poller_descriptor(const hrt_poller *poller, int fd) {
    if (poller->host_event != NULL) return -ENOTSUP;
    // libevent does not expose its epoll set. Modifying the descriptor's entry to its present state
    // succeeds in the one set that has it and fails elsewhere: with ENOENT for other sets, with
    // EINVAL for other descriptors.
    struct epoll_event same = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    long limit = sysconf(_SC_OPEN_MAX);
    for (int set = 0; set < limit; set++) {
        if (HRT_STATUS(epoll_ctl(set, EPOLL_CTL_MOD, fd, &same)) == 0) return set;
    }
    return -ENOTSUP;
}

#endif
#endif

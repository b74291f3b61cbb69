// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#ifndef HRT_LIBEVENT

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../CHRTimer/hrt_status.h"
#include "hrt_poller.h"

// As in libevent (INITIAL_NEVENT and MAX_NEVENT in epoll.c).
enum { LEAST_FOUND = 32, MOST_FOUND = 4096 };

struct hrt_interest {
    int fd;
    uint32_t events;
    hrt_on_events on_events;
    void *context;
    hrt_interest *next;  // the next interest in the same descriptor
};

struct hrt_poller {
    int epoll_fd;
    // Indexed by descriptor; the kernel gives out the least free number.
    hrt_interest **interests;
    size_t interest_count;
    struct epoll_event *found;
    size_t found_capacity;
    // While a callback runs: the interest that is called next, which the callback may remove.
    hrt_interest *next;
};

int hrt_poller_create(int fd, hrt_poller **out_poller) {
    (void)fd;
    hrt_poller *poller = calloc(1, sizeof *poller);
    if (poller == NULL) return -ENOMEM;
    poller->found_capacity = LEAST_FOUND;
    poller->found = malloc(LEAST_FOUND * sizeof *poller->found);
    poller->epoll_fd =
        poller->found == NULL ? -ENOMEM : (int)HRT_CALL(epoll_create1(EPOLL_CLOEXEC));
    if (poller->epoll_fd >= 0) {
        *out_poller = poller;
        return 0;
    }
    int status = poller->epoll_fd;
    free(poller->found);
    free(poller);
    return status;
}

int hrt_poller_create_on(struct event_base *base, void (*on_host)(void *context), void *context,
                         hrt_poller **out_poller) {
    (void)base, (void)on_host, (void)context, (void)out_poller;
    return -ENOTSUP;
}

void hrt_poller_call_host(hrt_poller *poller) { (void)poller; }

void hrt_poller_destroy(hrt_poller *poller) {
    close(poller->epoll_fd);
    free(poller->interests);
    free(poller->found);
    free(poller);
}

// Returns what all interests in a descriptor want together, 0 for nothing: epoll has one entry for
// each descriptor.
static uint32_t wanted(const hrt_interest *first) {
    uint32_t events = 0;
    for (const hrt_interest *interest = first; interest != NULL; interest = interest->next)
        events |= interest->events;
    return ((events & HRT_READABLE) != 0 ? (uint32_t)EPOLLIN : 0) |
           ((events & HRT_WRITABLE) != 0 ? (uint32_t)EPOLLOUT : 0) |
           ((events & HRT_EDGE) != 0 ? (uint32_t)EPOLLET : 0);
}

// Adds or changes the descriptor's entry. The number may have been closed and opened again since it
// was added, or may be a duplicate's: then the set has no entry for it, or has one that was thought
// to be gone.
static int enter(int set, int fd, uint32_t events, int operation) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    int status = HRT_STATUS(epoll_ctl(set, operation, fd, &event));
    if (status == -ENOENT && operation == EPOLL_CTL_MOD)
        return HRT_STATUS(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
    if (status == -EEXIST) return HRT_STATUS(epoll_ctl(set, EPOLL_CTL_MOD, fd, &event));
    return status;
}

static int make_room(hrt_poller *poller, size_t count) {
    if (count <= poller->interest_count) return 0;
    size_t room = poller->interest_count == 0 ? 32 : poller->interest_count;
    while (room < count) room *= 2;
    hrt_interest **interests = realloc(poller->interests, room * sizeof *interests);
    if (interests == NULL) return -ENOMEM;
    for (size_t index = poller->interest_count; index < room; index++) interests[index] = NULL;
    poller->interests = interests;
    poller->interest_count = room;
    return 0;
}

int hrt_poller_add(hrt_poller *poller, int fd, uint32_t events, hrt_on_events on_events,
                   void *context, hrt_interest **out_interest) {
    int status = make_room(poller, (size_t)fd + 1);
    if (status != 0) return status;
    hrt_interest *interest = malloc(sizeof *interest);
    if (interest == NULL) return -ENOMEM;
    hrt_interest **first = &poller->interests[fd];
    *interest = (hrt_interest){fd, events, on_events, context, *first};
    // Even if others want the same events: an edge that was reported to them is reported again.
    int operation = *first == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    status = enter(poller->epoll_fd, fd, wanted(interest), operation);
    if (status != 0) {
        free(interest);
        return status;
    }
    *first = interest;
    *out_interest = interest;
    return 0;
}

void hrt_poller_remove(hrt_poller *poller, hrt_interest *interest) {
    int fd = interest->fd;
    uint32_t former = wanted(poller->interests[fd]);
    hrt_interest **link = &poller->interests[fd];
    while (*link != interest) link = &(*link)->next;
    *link = interest->next;
    if (poller->next == interest) poller->next = interest->next;
    free(interest);
    uint32_t events = wanted(poller->interests[fd]);
    // An unchanged entry stays as it is, because a change would report a former edge again.
    if (events == former) return;
    // If this fails, the owner has closed the descriptor, which has left the set: epoll(7).
    int operation = events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    struct epoll_event event = {.events = events, .data.fd = fd};
    (void)HRT_STATUS(epoll_ctl(poller->epoll_fd, operation, fd, &event));
}

// Reports a hang-up or an error to all interests: the read or write that follows shows it.
static void call_back(hrt_poller *poller, struct epoll_event event) {
    uint32_t found = 0;
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) found |= HRT_READABLE;
    if ((event.events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) found |= HRT_WRITABLE;
    hrt_interest *interest = poller->interests[event.data.fd];
    while (interest != NULL) {
        poller->next = interest->next;
        uint32_t events = found & interest->events;
        if (events != 0) interest->on_events(interest->context, events);
        interest = poller->next;
    }
    poller->next = NULL;
}

// Makes room for more ready descriptors per call from then on.
static void grow(hrt_poller *poller) {
    size_t capacity = poller->found_capacity * 2;
    struct epoll_event *found = realloc(poller->found, capacity * sizeof *found);
    if (found == NULL) return;
    poller->found = found;
    poller->found_capacity = capacity;
}

void hrt_poller_run(hrt_poller *poller, bool waits) {
    long count =
        hrt_must("epoll_wait", HRT_CALL(epoll_wait(poller->epoll_fd, poller->found,
                                                   (int)poller->found_capacity, waits ? -1 : 0)));
    for (long index = 0; index < count; index++) call_back(poller, poller->found[index]);
    if ((size_t)count == poller->found_capacity && count < MOST_FOUND) grow(poller);
}

int hrt_poller_descriptor(const hrt_poller *poller, int fd) {
    (void)fd;
    return poller->epoll_fd;
}

#endif
#endif

// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int connected(int port, int address, int index) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    // An address has some 28,000 ephemeral ports: ip(7), ip_local_port_range. 127.0.0.0/8 is all loopback's.
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr =
                                   htonl(0x7f000002u + (uint32_t)(address + index / 10000))};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(descriptor, (struct sockaddr *)&from, sizeof from) == 0 &&
        connect(descriptor, (struct sockaddr *)&to, sizeof to) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

/// Reads what is there; 1 if the server has closed it.
static int drained(int descriptor) {
    char bytes[4096];
    for (;;) {
        ssize_t count = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count == 0) return 1;
        if (count < 0) return errno != EAGAIN && errno != EINTR;
    }
}

int client_run(int port, int address, int count, int rate, double seconds) {
    int *descriptors = malloc(sizeof *descriptors * (size_t)count);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (!descriptors || poll < 0) return errno;
    for (int index = 0; index < count; index++) {
        descriptors[index] = connected(port, address, index);
        if (descriptors[index] < 0) return errno;
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptors[index], &event) != 0) return errno;
    }
    puts("connected");
    fflush(stdout);
    int64_t begin_ns = now_ns(), sent = 0;
    int64_t end_ns = begin_ns + (int64_t)(seconds * 1e9);
    int open = seconds < 0 ? 0 : count;
    unsigned random = 2026;
    while (open > 0) {
        int64_t now = now_ns();
        int is_talking = now < end_ns;
        while (is_talking && sent * 1000000000 / rate <= now - begin_ns) {
            int descriptor = descriptors[rand_r(&random) % count];
            // Who was closed says nothing.
            if (descriptor >= 0 && send(descriptor, "hello\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                errno = 0;
            sent++;
        }
        struct epoll_event events[256];
        int ready = epoll_wait(poll, events, 256, is_talking ? 1 : 1000);
        for (int index = 0; index < ready; index++) {
            uint32_t who = events[index].data.u32;
            if (descriptors[who] < 0 || !drained(descriptors[who])) continue;
            close(descriptors[who]);
            descriptors[who] = -1;
            open--;
        }
        // A server that forgets somebody must not be waited for for ever.
        if (now > end_ns + 600000000000) return ETIMEDOUT;
    }
    free(descriptors);
    close(poll);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "frame_loop.h"

#include <poll.h>
#include <stddef.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t frame_loop_run(const frame_loop *loop) {
    uint64_t calls = 0;
    int64_t frame_ns = now_ns() + loop->frame_ns;
    for (;;) {
        int64_t rest_ns = frame_ns - now_ns();
        if (rest_ns <= 0) {
            if (!loop->on_frame(loop->context)) return calls;
            frame_ns += loop->frame_ns;
            continue;
        }
        struct timespec rest = {rest_ns / 1000000000, rest_ns % 1000000000};
        struct pollfd guest = {.fd = loop->fd, .events = POLLIN};
        if (ppoll(&guest, 1, &rest, NULL) == 1) {
            loop->on_ready(loop->context);
            calls++;
        }
    }
}

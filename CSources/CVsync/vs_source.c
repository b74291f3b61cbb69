// SPDX-License-Identifier: Apache-2.0
#ifdef __linux__
#include "vs_source.h"

#include <poll.h>
#include <time.h>

int64_t vs_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// poll(2) takes a relative timeout, so the time left is computed again after each signal.
static int poll_until(struct pollfd *waiting, int64_t until_ms) {
    int64_t left_ms = until_ms - vs_now_ms();
    if (left_ms > 0) return poll(waiting, 1, (int)left_ms);
    // The time is over: frequent signals must not extend the wait.
    int found = poll(waiting, 1, 0);
    return found < 0 ? 0 : found;
}

int vs_wait_readable(int fd, int64_t until_ms) {
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    return HRT_CALL(poll_until(&waiting, until_ms)) > 0;
}

int vs_descriptor(const vs_source *source) { return source->fd; }

int vs_request(vs_source *source, uint64_t refreshes) {
    return source->ops->request(source, refreshes > 0 ? refreshes : 1);
}

int vs_take(vs_source *source, vs_sample *out_sample) {
    return source->ops->take(source, out_sample);
}

void vs_told_rate(const vs_source *source, int64_t *out_numerator, int64_t *out_denominator) {
    *out_numerator = source->told_numerator;
    *out_denominator = source->told_denominator > 0 ? source->told_denominator : 1;
}

void vs_close(vs_source *source) { source->ops->close(source); }
#endif

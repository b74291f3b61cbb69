// SPDX-License-Identifier: Apache-2.0
// libuv's timer, which is set again for each deadline. Its timeouts are whole milliseconds. They
// are rounded up here: rounded down, the timer would fire early.
#include <uv.h>

#include "block.h"

static void on_timer(uv_timer_t *timer);

static void arm(uv_timer_t *timer) {
    uv_update_time(timer->loop);
    int64_t left_ns = rival_deadline_ns() - rival_now_ns();
    uv_timer_start(timer, on_timer, left_ns > 0 ? (uint64_t)(left_ns + 999999) / 1000000 : 0, 0);
}

static void on_timer(uv_timer_t *timer) {
    // libuv's clock counts in milliseconds too, so that a timer may fire before its deadline.
    if (rival_now_ns() < rival_deadline_ns() || rival_fire()) arm(timer);
}

int main(int argc, char **argv) {
    uv_timer_t timer;
    uv_timer_init(uv_default_loop(), &timer);
    rival_begin(argc, argv);
    arm(&timer);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return rival_end();
}

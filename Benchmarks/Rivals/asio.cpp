// SPDX-License-Identifier: Apache-2.0
// asio's steady_timer, which is set again for each deadline by its absolute time.
// std::chrono::steady_clock is CLOCK_MONOTONIC in libstdc++.
#include <asio.hpp>

#include "block.h"

using clock_type = std::chrono::steady_clock;

static void arm(asio::steady_timer &timer) {
    timer.expires_at(clock_type::time_point(std::chrono::nanoseconds(rival_deadline_ns())));
    timer.async_wait([&timer](const asio::error_code &error) {
        if (!error && rival_fire()) arm(timer);
    });
}

int main(int argc, char **argv) {
    asio::io_context context;
    asio::steady_timer timer(context);
    rival_begin(argc, argv);
    arm(timer);
    context.run();
    return rival_end();
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

/// A socket of UDP on a free port of loopback, on which the kernel stamps what comes; the port in `port`. -1 if it cannot be had.
int receiver_open(uint16_t *port);

/// Waits for a byte: that, or -1 after a second without one. `stamp_ns` is when the kernel received it, on CLOCK_REALTIME.
int receiver_read(int descriptor, int64_t *stamp_ns);

/// A socket that sends to that port.
int sender_open(uint16_t port);

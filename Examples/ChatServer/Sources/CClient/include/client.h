// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Connects `count` times to a port of loopback, from several of its addresses, since the ports of one do not suffice; the first is
/// 127.0.0.2 plus `address`. Says so by a line on standard output; sends `rate` lines a second from random connections for `seconds`, and then is silent and reads until the server has
/// closed all. Seconds of less than zero end it at once. 0, or the number of an error.
int client_run(int port, int address, int count, int rate, double seconds);

// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Blocks the calling thread until the monotonic clock reaches `deadline_ns`, with none of our park strategies: clock_nanosleep(2).
public func blockThread(until deadline_ns: Int64) {
    var deadline = timespec(tv_sec: Int(deadline_ns / 1_000_000_000), tv_nsec: Int(deadline_ns % 1_000_000_000))
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nil) == EINTR {}
}

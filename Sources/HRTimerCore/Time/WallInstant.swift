// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A point on the wall clock, in whole nanoseconds: Linux's `CLOCK_REALTIME`, the time of day in UTC.
///
/// The clock may be set. Timers whose deadlines a step forward passes are due at once; a step back delays pending timers.
/// The clock goes on while the system is suspended. To measure a length of time, use `MonotonicInstant`.
public struct WallInstant: TimerInstant {
    /// `CLOCK_REALTIME`.
    public static var clock: TimerClock { .wall }

    /// Nanoseconds since 1970-01-01 00:00 UTC, leap seconds not counted.
    public let nanoseconds: Int64

    /// Creates the instant `nanoseconds` after 1970-01-01 00:00 UTC.
    ///
    /// A negative one lies before it. Reaches the year 2262.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Returns `instant.advanced(by: duration)`.
    ///
    /// Each instant type declares this operator itself, since the compiler finds it for `sleep(until: .now + duration, clock:)`
    /// only here.
    public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
}
#endif

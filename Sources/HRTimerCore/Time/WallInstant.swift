/// A point on the wall clock, in whole nanoseconds: Linux's `CLOCK_REALTIME`, the time of day in UTC.
///
/// The clock may be set: a step forward makes due at once what it passes, a step back delays what is pending. It goes on while
/// the system is suspended. For the length of a time use `MonotonicInstant`.
public struct WallInstant: TimerInstant {
    /// `CLOCK_REALTIME`.
    public static var clock: TimerClock { .wall }

    /// Nanoseconds since 1970-01-01 00:00 UTC, leap seconds not counted.
    public let nanoseconds: Int64

    /// The instant `nanoseconds` after 1970-01-01 00:00 UTC; negative ones lie before it. Reaches the year 2262.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// As `advanced(by:)`. Not for all instants at once: `sleep(until: .now + duration, clock:)` finds it only here.
    public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
}

#if os(Linux)
/// A point on the monotonic clock, in whole nanoseconds: Linux's `CLOCK_MONOTONIC`.
///
/// The clock counts from some point before the system booted, is never set, and stands still while the system is
/// suspended. Arithmetic saturates: a result beyond `distantFuture` is `distantFuture`, which no subtraction makes
/// earlier again.
///
/// The members of `TimerInstant` are declared here again, since other modules call them on hot paths, and could not
/// specialise generic code.
public struct MonotonicInstant: TimerInstant {
    /// `CLOCK_MONOTONIC`.
    public static var clock: TimerClock { .monotonic }

    /// Nanoseconds since the zero of the clock.
    public let nanoseconds: Int64

    /// The instant `nanoseconds` after the zero of the clock; negative ones lie before it and are always past.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock's present reading; a vDSO call, no system call. `clock_gettime(2)`. In virtual time its reading, see
    /// `TimeBase.current`.
    public static var now: MonotonicInstant {
        MonotonicInstant(nanoseconds: CurrentTime.now_ns(.monotonic))
    }

    /// Never: a timer with this deadline does not fire until it is given another one.
    public static var distantFuture: MonotonicInstant { MonotonicInstant(nanoseconds: .max) }

    /// Before every other instant; as a deadline it means now.
    public static var distantPast: MonotonicInstant { MonotonicInstant(nanoseconds: .min) }

    /// This instant moved by `duration`, rounded up to a whole nanosecond; saturates.
    public func advanced(by duration: Duration) -> MonotonicInstant {
        if self == .distantFuture { return self }
        return MonotonicInstant(nanoseconds: nanoseconds.addingSaturating(duration.nanosecondsRoundedUp))
    }

    /// The time from this instant to `other`; negative if `other` is earlier. Exact, also at the bounds.
    public func duration(to other: MonotonicInstant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// Whether the left instant is the earlier one.
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// As `advanced(by:)`. Declared for each instant type, since `sleep(until: .now + duration, clock:)` finds it only
    /// here.
    public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
}
#endif

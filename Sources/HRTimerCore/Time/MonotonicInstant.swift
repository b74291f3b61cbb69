/// A point on the monotonic clock, in whole nanoseconds: Linux's `CLOCK_MONOTONIC`.
///
/// The clock counts from some point before the system booted, is never set, and stands still while the system is
/// suspended. Arithmetic saturates: what would lie beyond `distantFuture` is `distantFuture`, which no amount of time
/// makes earlier again.
///
/// What the other instants have from `TimerInstant` stands here again, since the hot paths of other modules call it: generic
/// code they could not have specialised.
public struct MonotonicInstant: TimerInstant {
    /// `CLOCK_MONOTONIC`.
    public static var clock: TimerClock { .monotonic }

    /// Nanoseconds since the zero of the clock.
    public let nanoseconds: Int64

    /// The instant `nanoseconds` after the zero of the clock; negative ones lie before it and are always past.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// What the clock reads now; a vDSO call, no system call. `clock_gettime(2)`. In virtual time what that reads, see
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

    /// As `advanced(by:)`. Not for all instants at once: `sleep(until: .now + duration, clock:)` finds it only here.
    public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
}

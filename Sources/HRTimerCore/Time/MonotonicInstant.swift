// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A point on the monotonic clock, in whole nanoseconds: Linux's `CLOCK_MONOTONIC`.
///
/// The clock counts from some point before the system booted, is never set, and stands still while the system is suspended.
/// Arithmetic saturates: a result beyond `distantFuture` is `distantFuture`, and no subtraction makes `distantFuture` earlier.
///
/// The members of `TimerInstant` are declared here again, because other modules call them on hot paths and could not
/// specialise the generic versions.
public struct MonotonicInstant: TimerInstant {
    /// `CLOCK_MONOTONIC`.
    public static var clock: TimerClock { .monotonic }

    /// Nanoseconds since the zero of the clock.
    public let nanoseconds: Int64

    /// Creates the instant `nanoseconds` after the zero of the clock.
    ///
    /// A negative one lies before it and is always past.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock's present reading, by `clock_gettime(2)`: a vDSO call, no system call.
    ///
    /// In virtual time, the reading of the virtual clock; see `TimeBase.current`.
    public static var now: MonotonicInstant {
        MonotonicInstant(nanoseconds: CurrentTime.now_ns(.monotonic))
    }

    /// An instant that never comes: a timer with this deadline does not fire until it is given another one.
    public static var distantFuture: MonotonicInstant { MonotonicInstant(nanoseconds: .max) }

    /// An instant before every other.
    ///
    /// As a deadline it means now.
    public static var distantPast: MonotonicInstant { MonotonicInstant(nanoseconds: .min) }

    /// Returns this instant moved by `duration`, rounded up to a whole nanosecond; saturates.
    public func advanced(by duration: Duration) -> MonotonicInstant {
        if self == .distantFuture { return self }
        return MonotonicInstant(nanoseconds: nanoseconds.addingSaturating(duration.nanosecondsRoundedUp))
    }

    /// Returns the time from this instant to `other`; negative if `other` is earlier.
    ///
    /// Exact, also at the bounds.
    public func duration(to other: MonotonicInstant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// Returns whether the left instant is the earlier one.
    public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Returns `instant.advanced(by: duration)`.
    ///
    /// Each instant type declares this operator itself, since the compiler finds it for `sleep(until: .now + duration, clock:)`
    /// only here.
    public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
}
#endif

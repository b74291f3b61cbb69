// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A point on one of the three clocks, in whole nanoseconds.
///
/// Arithmetic saturates: a result beyond `distantFuture` is `distantFuture`, and no subtraction makes `distantFuture` earlier.
public protocol TimerInstant: InstantProtocol, CustomStringConvertible where Duration == Swift.Duration {
    /// The clock of this type's instants.
    static var clock: TimerClock { get }
    /// Nanoseconds since the zero of the clock.
    var nanoseconds: Int64 { get }
    /// Creates the instant `nanoseconds` after the zero of the clock.
    ///
    /// A negative one lies before it.
    init(nanoseconds: Int64)
}

extension TimerInstant {
    /// The clock's present reading, by `clock_gettime(2)`: a vDSO call, no system call.
    ///
    /// In virtual time, the reading of the virtual clock; see `TimeBase.current`.
    public static var now: Self { Self(nanoseconds: CurrentTime.now_ns(clock)) }

    /// An instant that never comes: a timer with this deadline does not fire until it is given another one.
    public static var distantFuture: Self { Self(nanoseconds: .max) }

    /// An instant before every other.
    ///
    /// As a deadline it means now.
    public static var distantPast: Self { Self(nanoseconds: .min) }

    /// Returns this instant moved by `duration`, rounded up to a whole nanosecond; saturates.
    public func advanced(by duration: Duration) -> Self {
        if nanoseconds == .max { return self }
        return Self(nanoseconds: nanoseconds.addingSaturating(duration.nanosecondsRoundedUp))
    }

    /// Returns the time from this instant to `other`; negative if `other` is earlier.
    ///
    /// Exact, also at the bounds.
    public func duration(to other: Self) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// Returns the instant that is `duration` earlier, rounded up to a whole nanosecond.
    ///
    /// Saturates; `distantFuture` stays.
    public static func - (instant: Self, duration: Duration) -> Self {
        // The least duration cannot be negated. One that is an attosecond shorter saturates as well.
        let negated = duration.attoseconds == .min ? Int128.max : -duration.attoseconds
        return instant.advanced(by: Duration(attoseconds: negated))
    }

    /// Moves the instant as `advanced(by:)` does.
    public static func += (instant: inout Self, duration: Duration) { instant = instant.advanced(by: duration) }

    /// Moves the instant as `-` does.
    public static func -= (instant: inout Self, duration: Duration) { instant = instant - duration }

    /// Returns the time from the right instant to the left one: `right.duration(to: left)`.
    public static func - (left: Self, right: Self) -> Duration { right.duration(to: left) }

    /// Returns whether the left instant is the earlier one.
    public static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Seconds since the zero of the clock with all nine decimals, or the name of a bound: `distantFuture`, `distantPast`.
    public var description: String {
        switch nanoseconds {
        case .max: return "distantFuture"
        case .min: return "distantPast"
        default:
            let (seconds, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
            let decimals = String(rest + 1_000_000_000).dropFirst()
            return "\(nanoseconds < 0 ? "-" : "")\(seconds).\(decimals) s"
        }
    }
}
#endif

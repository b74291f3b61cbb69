#if os(Linux)
/// A point on one of the three clocks, in whole nanoseconds. Arithmetic saturates: a result beyond `distantFuture` is
/// `distantFuture`, which no subtraction makes earlier again.
public protocol TimerInstant: InstantProtocol, CustomStringConvertible where Duration == Swift.Duration {
    /// The clock it is on.
    static var clock: TimerClock { get }
    /// Nanoseconds since the zero of the clock.
    var nanoseconds: Int64 { get }
    /// The instant `nanoseconds` after the zero of the clock; negative ones lie before it.
    init(nanoseconds: Int64)
}

extension TimerInstant {
    /// The clock's present reading; a vDSO call, no system call. `clock_gettime(2)`. In virtual time its reading, see
    /// `TimeBase.current`.
    public static var now: Self { Self(nanoseconds: CurrentTime.now_ns(clock)) }

    /// Never: a timer with this deadline does not fire until it is given another one.
    public static var distantFuture: Self { Self(nanoseconds: .max) }

    /// Before every other instant; as a deadline it means now.
    public static var distantPast: Self { Self(nanoseconds: .min) }

    /// This instant moved by `duration`, rounded up to a whole nanosecond; saturates.
    public func advanced(by duration: Duration) -> Self {
        if nanoseconds == .max { return self }
        return Self(nanoseconds: nanoseconds.addingSaturating(duration.nanosecondsRoundedUp))
    }

    /// The time from this instant to `other`; negative if `other` is earlier. Exact, also at the bounds.
    public func duration(to other: Self) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    /// The instant that is `duration` earlier, rounded up to a whole nanosecond; saturates, and `distantFuture` stays.
    public static func - (instant: Self, duration: Duration) -> Self {
        // A duration too long to be negated saturates also if it is one attosecond shorter.
        let negated = duration.attoseconds == .min ? Int128.max : -duration.attoseconds
        return instant.advanced(by: Duration(attoseconds: negated))
    }

    /// As `advanced(by:)`.
    public static func += (instant: inout Self, duration: Duration) { instant = instant.advanced(by: duration) }

    /// As `-`.
    public static func -= (instant: inout Self, duration: Duration) { instant = instant - duration }

    /// The time from the right instant to the left one: `right.duration(to: left)`.
    public static func - (left: Self, right: Self) -> Duration { right.duration(to: left) }

    /// Whether the left instant is the earlier one.
    public static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Seconds since the zero of the clock with all nine decimals, or the word for one of the bounds.
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

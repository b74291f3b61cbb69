// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A length of time of any of several types: seconds as `Double` or `Int`, or a `Duration`.
///
///     LoopTimer.scheduled(timeInterval: 0.1, repeats: true) { _ in … }
///     LoopTimer.scheduled(timeInterval: .milliseconds(100), repeats: true) { _ in … }
///
/// With Dispatch imported, `DispatchTimeInterval` conforms, too. Each deadline is rounded up to whole nanoseconds by
/// itself, so that no timer fires early and no interval drifts. Saturates at 292 years.
public protocol TimeSpan: Sendable {
    /// The same length as a `Duration`; nil for an invalid one, for example NaN.
    var asDuration: Duration? { get }
}

extension Duration: TimeSpan {
    /// This duration.
    @inlinable public var asDuration: Duration? { self }
}

extension Double: TimeSpan {
    /// This number of seconds, as exact as the number; nil for NaN.
    public var asDuration: Duration? {
        if isNaN { UsageWarning.report(.notANumber("a length of time")) }
        return Duration(exactSeconds: self)
    }
}

extension Int: TimeSpan {
    /// This number of seconds.
    public var asDuration: Duration? { .seconds(self) }
}

// Members for a leading dot where a parameter takes any type of time span: those of `Duration` and of `Double`.
extension TimeSpan where Self == Duration {
    /// No time.
    public static var zero: Duration { Duration.zero }

    /// Returns the duration of a number of seconds.
    public static func seconds(_ seconds: some BinaryInteger) -> Duration { Duration.seconds(seconds) }

    /// Returns the duration of a number of seconds.
    ///
    /// NaN is zero; infinities and numbers beyond 292 years saturate.
    public static func seconds(_ seconds: Double) -> Duration {
        duration(of: seconds, Duration.seconds, perSecond: 1)
    }

    /// Returns the duration of a number of thousandths of a second.
    public static func milliseconds(_ milliseconds: some BinaryInteger) -> Duration {
        Duration.milliseconds(milliseconds)
    }

    /// Returns the duration of a number of thousandths of a second.
    ///
    /// NaN is zero; infinities and numbers beyond 292 years saturate.
    public static func milliseconds(_ milliseconds: Double) -> Duration {
        duration(of: milliseconds, Duration.milliseconds, perSecond: 1e3)
    }

    /// Returns the duration of a number of millionths of a second.
    public static func microseconds(_ microseconds: some BinaryInteger) -> Duration {
        Duration.microseconds(microseconds)
    }

    /// Returns the duration of a number of millionths of a second.
    ///
    /// NaN is zero; infinities and numbers beyond 292 years saturate.
    public static func microseconds(_ microseconds: Double) -> Duration {
        duration(of: microseconds, Duration.microseconds, perSecond: 1e6)
    }

    /// Returns the duration of a number of nanoseconds.
    public static func nanoseconds(_ nanoseconds: some BinaryInteger) -> Duration { Duration.nanoseconds(nanoseconds) }

    /// The initializers of `Duration` trap for NaN, infinities and numbers that it has no room for. 2^63 ns are 292 years.
    private static func duration(of count: Double, _ make: (Double) -> Duration, perSecond: Double) -> Duration {
        let seconds = count / perSecond
        if seconds.isNaN {
            UsageWarning.report(.notANumber("a length of time"))
            return Duration.zero
        }
        if seconds.magnitude < 0x1p63 / 1e9 { return make(count) }
        return Duration.nanoseconds(seconds < 0 ? Int64.min : .max)
    }
}

extension TimeSpan where Self == Double {
    /// A length of time that is longer than any timer waits.
    public static var infinity: Double { Double.infinity }

    /// An invalid length of time, NaN.
    ///
    /// An object that is made with it is invalid from the start, or counts it as zero.
    public static var nan: Double { Double.nan }
}

extension TimeSpan {
    /// The length in whole nanoseconds, rounded up and saturating; nil for NaN.
    package var nanoseconds: Int64? { asDuration?.nanosecondsRoundedUp }

    /// The length in whole nanoseconds, rounded up and saturating; 0 for NaN.
    package var nanosecondsOrZero: Int64 { nanoseconds ?? 0 }
}
#endif

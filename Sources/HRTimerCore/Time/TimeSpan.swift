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
    public var asDuration: Duration? { Duration(exactSeconds: self) }
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
    public static func seconds(_ seconds: Double) -> Duration { Duration.seconds(seconds) }

    /// Returns the duration of a number of thousandths of a second.
    public static func milliseconds(_ milliseconds: some BinaryInteger) -> Duration {
        Duration.milliseconds(milliseconds)
    }

    /// Returns the duration of a number of thousandths of a second.
    public static func milliseconds(_ milliseconds: Double) -> Duration { Duration.milliseconds(milliseconds) }

    /// Returns the duration of a number of millionths of a second.
    public static func microseconds(_ microseconds: some BinaryInteger) -> Duration {
        Duration.microseconds(microseconds)
    }

    /// Returns the duration of a number of millionths of a second.
    public static func microseconds(_ microseconds: Double) -> Duration { Duration.microseconds(microseconds) }

    /// Returns the duration of a number of nanoseconds.
    public static func nanoseconds(_ nanoseconds: some BinaryInteger) -> Duration { Duration.nanoseconds(nanoseconds) }
}

extension TimeSpan where Self == Double {
    /// A length of time that is longer than any timer waits.
    public static var infinity: Double { Double.infinity }

    /// An invalid length of time, NaN. An object that is made with it is invalid from the start, or counts it as zero.
    public static var nan: Double { Double.nan }
}

extension TimeSpan {
    /// The length in whole nanoseconds, rounded up and saturating; nil for NaN.
    package var nanoseconds: Int64? { asDuration?.nanosecondsRoundedUp }

    /// The length in whole nanoseconds, rounded up and saturating; 0 for NaN.
    package var nanosecondsOrZero: Int64 { nanoseconds ?? 0 }
}
#endif

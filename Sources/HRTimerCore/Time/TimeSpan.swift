#if os(Linux)
/// A length of time in any spelling: seconds as `Double` or `Int`, or a `Duration`.
///
///     LoopTimer.scheduled(timeInterval: 0.1, repeats: true) { _ in … }
///     LoopTimer.scheduled(timeInterval: .milliseconds(100), repeats: true) { _ in … }
///
/// With Dispatch imported, `DispatchTimeInterval` too. Each deadline is rounded up to whole nanoseconds by itself, so
/// that no timer fires early and no interval drifts; saturates at 292 years.
public protocol TimeSpan: Sendable {
    /// The same as a `Duration`; nil for an invalid one, such as NaN.
    var asDuration: Duration? { get }
}

extension Duration: TimeSpan {
    /// Itself.
    @inlinable public var asDuration: Duration? { self }
}

extension Double: TimeSpan {
    /// So many seconds, as exactly as the number gives them; nil for NaN.
    public var asDuration: Duration? { Duration(exactSeconds: self) }
}

extension Int: TimeSpan {
    /// So many seconds.
    public var asDuration: Duration? { .seconds(self) }
}

// Members for a leading dot where any spelling is taken: those of `Duration` and of `Double`.
extension TimeSpan where Self == Duration {
    /// No time.
    public static var zero: Duration { Duration.zero }

    /// So many seconds.
    public static func seconds(_ seconds: some BinaryInteger) -> Duration { Duration.seconds(seconds) }

    /// So many seconds.
    public static func seconds(_ seconds: Double) -> Duration { Duration.seconds(seconds) }

    /// So many thousandths of a second.
    public static func milliseconds(_ milliseconds: some BinaryInteger) -> Duration {
        Duration.milliseconds(milliseconds)
    }

    /// So many thousandths of a second.
    public static func milliseconds(_ milliseconds: Double) -> Duration { Duration.milliseconds(milliseconds) }

    /// So many millionths of a second.
    public static func microseconds(_ microseconds: some BinaryInteger) -> Duration {
        Duration.microseconds(microseconds)
    }

    /// So many millionths of a second.
    public static func microseconds(_ microseconds: Double) -> Duration { Duration.microseconds(microseconds) }

    /// So many nanoseconds.
    public static func nanoseconds(_ nanoseconds: some BinaryInteger) -> Duration { Duration.nanoseconds(nanoseconds) }
}

extension TimeSpan where Self == Double {
    /// Longer than any timer waits.
    public static var infinity: Double { Double.infinity }

    /// An invalid length of time, as NaN: what is made with it is invalid from the start, or counts it as zero.
    public static var nan: Double { Double.nan }
}

extension TimeSpan {
    /// In whole nanoseconds, rounded up and saturating; nil for NaN.
    package var nanoseconds: Int64? { asDuration?.nanosecondsRoundedUp }

    /// The same where NaN counts as no time.
    package var nanosecondsOrZero: Int64 { nanoseconds ?? 0 }
}
#endif

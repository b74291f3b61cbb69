#if os(Linux)
/// A point in time in any spelling, for timers on the monotonic clock: a `MonotonicInstant`, or a `Date` or
/// `DispatchTime`. The last two are converted at once, and do not follow later steps of the wall clock.
///
///     loop.run(until: .now + .seconds(1))
///     loop.run(until: Date(timeIntervalSinceNow: 1))
///
/// A timer that shall follow the wall clock or boot time takes a `WallInstant` or a `BootTimeInstant`. These do not
/// conform: instants of different clocks do not mix.
public protocol TimePoint: Sendable {
    /// The same point on the monotonic clock of `time`, by the present difference of the clocks; nil for an invalid
    /// one, such as a `Date` of NaN.
    func instant(on time: TimeBase) -> MonotonicInstant?
}

extension MonotonicInstant: TimePoint {
    /// Itself.
    @inlinable public func instant(on time: TimeBase) -> MonotonicInstant? { self }
}

// Members for a leading dot where any spelling is taken.
extension TimePoint where Self == MonotonicInstant {
    /// The clock's present reading.
    public static var now: MonotonicInstant { MonotonicInstant.now }

    /// Never.
    public static var distantFuture: MonotonicInstant { MonotonicInstant.distantFuture }

    /// Before every other instant; as a deadline it means now.
    public static var distantPast: MonotonicInstant { MonotonicInstant.distantPast }
}

extension TimeBase {
    /// The monotonic clock's reading when `clock` reads `instant_ns`, if neither is set meanwhile.
    package func monotonic_ns(_ instant_ns: Int64, of clock: TimerClock) -> Int64 {
        if clock == .monotonic || instant_ns == .max || instant_ns == .min { return instant_ns }
        return instant_ns.subtractingSaturating(offset_ns(of: clock))
    }

    /// How far `clock` is ahead of the monotonic clock, to within the time between two readings.
    ///
    /// If the thread loses the processor between them, for 10 ms say, that looks like a step of the clock: then it
    /// reads again.
    package func offset_ns(of clock: TimerClock) -> Int64 {
        let (here, there) = (on(.monotonic), on(clock))
        var least = (apart_ns: Int64.max, offset_ns: Int64(0))
        for _ in 0..<5 {
            let before_ns = here.now_ns
            let there_ns = there.now_ns
            // The other clock first: the time between the two readings makes an instant later, never earlier.
            let after_ns = here.now_ns
            let apart_ns = after_ns.subtractingSaturating(before_ns)
            if apart_ns < least.apart_ns { least = (apart_ns, there_ns.subtractingSaturating(after_ns)) }
            if apart_ns < 1_000_000 { break }
        }
        return least.offset_ns
    }
}
#endif

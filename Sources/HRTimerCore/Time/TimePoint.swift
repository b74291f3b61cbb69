// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A point in time of any of several types, for timers on the monotonic clock: a `MonotonicInstant`, a `Date` or a
/// `DispatchTime`.
///
/// The last two are converted at once, and do not follow later steps of the wall clock.
///
///     loop.run(until: .now + .seconds(1))
///     loop.run(until: Date(timeIntervalSinceNow: 1))
///
/// A timer that is to follow the wall clock or boot time takes a `WallInstant` or a `BootTimeInstant`. These types do not
/// conform: instants of different clocks do not mix.
public protocol TimePoint: Sendable {
    /// Returns the same point on the monotonic clock of `time`, by the present difference of the clocks; nil for an invalid
    /// point, for example a `Date` of NaN.
    func instant(on time: TimeBase) -> MonotonicInstant?
}

extension MonotonicInstant: TimePoint {
    /// Returns this instant.
    @inlinable public func instant(on time: TimeBase) -> MonotonicInstant? { self }
}

// Members for a leading dot where a parameter takes any type of time point.
extension TimePoint where Self == MonotonicInstant {
    /// The clock's present reading.
    public static var now: MonotonicInstant { MonotonicInstant.now }

    /// An instant that never comes.
    public static var distantFuture: MonotonicInstant { MonotonicInstant.distantFuture }

    /// An instant before every other.
    ///
    /// As a deadline it means now.
    public static var distantPast: MonotonicInstant { MonotonicInstant.distantPast }
}

extension TimeBase {
    /// Returns the monotonic clock's reading when `clock` reads `instant_ns`, if neither clock is set meanwhile.
    package func monotonic_ns(_ instant_ns: Int64, of clock: TimerClock) -> Int64 {
        if clock == .monotonic || instant_ns == .max || instant_ns == .min { return instant_ns }
        return instant_ns.subtractingSaturating(offset_ns(of: clock))
    }

    /// Returns how far `clock` is ahead of the monotonic clock, to within the time between two readings.
    ///
    /// If the thread loses the processor between the readings, for 10 ms say, that looks like a step of the clock: then the
    /// function reads again.
    package func offset_ns(of clock: TimerClock) -> Int64 {
        let (here, there) = (on(.monotonic), on(clock))
        var least = (apart_ns: Int64.max, offset_ns: Int64(0))
        for _ in 0..<5 {
            let before_ns = here.now_ns
            let there_ns = there.now_ns
            // The other clock is read first: the time between the two readings makes an instant later, never earlier.
            let after_ns = here.now_ns
            let apart_ns = after_ns.subtractingSaturating(before_ns)
            if apart_ns < least.apart_ns { least = (apart_ns, there_ns.subtractingSaturating(after_ns)) }
            if apart_ns < 1_000_000 { break }
        }
        return least.offset_ns
    }
}
#endif

#if os(Linux)
import CHRTimer

/// Where an engine or a loop takes its time from: the kernel, or a virtual clock under a test's control.
///
/// A value of this type goes into a configuration. The default everywhere is `.current`: the kernel's, unless a test
/// runs in a virtual time. A virtual one comes from `ManualTime` or `withManualTime` of the module HRTimerTesting.
public struct TimeBase: Sendable {
    /// Nil for the kernel's clocks.
    package let virtual: (any VirtualTime)?
    /// The clock that is read.
    package let clock: TimerClock

    /// The kernel's clocks, and real waiting.
    public static let kernel = TimeBase(virtual: nil)

    /// The time that the calling code is in: a virtual one inside `withManualTime` and in handlers that a `ManualTime`
    /// fires, the kernel's everywhere else.
    public static var current: TimeBase { TimeBase(virtual: CurrentTime.virtual) }

    package init(virtual: (any VirtualTime)?, clock: TimerClock = .monotonic) {
        self.virtual = virtual
        self.clock = clock
    }

    package func on(_ clock: TimerClock) -> TimeBase {
        TimeBase(virtual: virtual, clock: clock)
    }

    /// The clock's present reading.
    @inlinable @inline(__always)
    package var now_ns: Int64 { read_ns() }

    // Inlined in this module. Other modules call it, and of those a loop's pass most often.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    @usableFromInline @inline(__always)
    func read_ns() -> Int64 {
        if let virtual { return virtual.now_ns.addingSaturating(virtual.offset_ns(of: clock)) }
        return hrt_clock_now_ns(clock.c)
    }

    /// The calling thread spins from `begun_ns`, which it has just read, until `deadline_ns`. Gives the last reading, which
    /// is before the deadline only where more than `longest_ns` is left, and what it took of the processor. A virtual clock
    /// does not go on by itself: there nothing is spun.
    package func spin(
        until deadline_ns: Int64,
        from begun_ns: Int64,
        atMost longest_ns: Int64 = .max
    ) -> (now_ns: Int64, spun_ns: Int64) {
        if virtual != nil { return (begun_ns, 0) }
        var spun_ns: Int64 = 0
        let now_ns = hrt_spin_until(clock.c, deadline_ns, begun_ns, longest_ns, &spun_ns)
        return (now_ns, spun_ns)
    }

    /// The reading of a virtual monotonic clock when this clock reads `instant_ns`, by the present difference of the
    /// two.
    package func monotonic_ns(_ instant_ns: Int64) -> Int64 {
        guard let virtual, instant_ns < .max else { return instant_ns }
        return instant_ns.subtractingSaturating(virtual.offset_ns(of: clock))
    }
}
#endif

import CHRTimer

/// Where an engine or a loop takes its time from: the kernel, or a virtual clock under a test's control.
///
/// A value of this type goes into a configuration; `.current` is the default everywhere, which is the kernel's unless a test
/// says otherwise. A virtual one comes from `ManualTime` or `withManualTime` of the module HRTimerTesting.
public struct TimeBase: Sendable {
    /// Nil for the kernel's clocks.
    package let virtual: (any VirtualTime)?
    /// Which of the clocks is read.
    package let clock: TimerClock

    /// The kernel's clocks, and real waiting.
    public static let kernel = TimeBase(virtual: nil)

    /// The time that the calling code is in: a virtual one inside `withManualTime`, and in what the clock of a `ManualTime`
    /// fires; the kernel's everywhere else.
    public static var current: TimeBase { TimeBase(virtual: CurrentTime.virtual) }

    package init(virtual: (any VirtualTime)?, clock: TimerClock = .monotonic) {
        self.virtual = virtual
        self.clock = clock
    }

    package func on(_ clock: TimerClock) -> TimeBase {
        TimeBase(virtual: virtual, clock: clock)
    }

    /// What the clock reads now.
    @inline(__always)
    package var now_ns: Int64 {
        if let virtual { return virtual.now_ns.addingSaturating(virtual.offset_ns(of: clock)) }
        return hrt_clock_now_ns(clock.c)
    }

    /// The calling thread spins from `begun_ns`, which it has just read, until `deadline_ns`. Gives the last reading, which is
    /// before the deadline only where more than `longest_ns` is left, and what it took of the processor. A virtual clock does
    /// not go on by itself: there nothing is spun.
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

    /// When a virtual monotonic clock reads what this clock has as `instant_ns`, as the two stand to each other now.
    package func monotonic_ns(_ instant_ns: Int64) -> Int64 {
        guard let virtual, instant_ns < .max else { return instant_ns }
        return instant_ns.subtractingSaturating(virtual.offset_ns(of: clock))
    }
}

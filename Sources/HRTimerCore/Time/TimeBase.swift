// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import CHRTimer

/// The source of an engine's or a loop's time: the kernel, or a virtual clock under a test's control.
///
/// A value of this type is part of a configuration. The default everywhere is `.current`: the kernel's time, unless a test
/// runs in a virtual time. A virtual time comes from `ManualTime` or `withManualTime` of the module HRTimerTesting.
public struct TimeBase: Sendable {
    /// The virtual time; nil for the kernel's clocks.
    package let virtual: (any VirtualTime)?
    /// The clock that is read.
    package let clock: TimerClock
    /// The same clock in C. Kept, since a table that converts it would be a page more in each fire.
    @usableFromInline let kernelClock: hrt_clock
    /// Whether there is a virtual time. Kept, since looking at `virtual` from another module would count a reference.
    @usableFromInline let isVirtual: Bool

    /// The kernel's clocks, and real waiting.
    public static let kernel = TimeBase(virtual: nil)

    /// The time that the calling code is in: a virtual one inside `withManualTime` and in handlers that a `ManualTime`
    /// fires, the kernel's everywhere else.
    public static var current: TimeBase { TimeBase(virtual: CurrentTime.virtual) }

    package init(virtual: (any VirtualTime)?, clock: TimerClock = .monotonic) {
        self.virtual = virtual
        self.clock = clock
        kernelClock = clock.c
        isVirtual = virtual != nil
    }

    package func on(_ clock: TimerClock) -> TimeBase {
        TimeBase(virtual: virtual, clock: clock)
    }

    /// The present reading of the clock. Inlined in other modules too: a call would count a reference to the virtual time, even
    /// where there is none.
    @inlinable @inline(__always)
    package var now_ns: Int64 { isVirtual ? readVirtual_ns() : hrt_clock_now_ns(kernelClock) }

    @usableFromInline @inline(never)
    func readVirtual_ns() -> Int64 {
        guard let virtual else { return hrt_clock_now_ns(kernelClock) }
        return virtual.now_ns.addingSaturating(virtual.offset_ns(of: clock))
    }

    /// Spins on the calling thread from `begun_ns`, which the caller has just read, until `deadline_ns`.
    ///
    /// Returns the last reading, which is before the deadline only if more than `longest_ns` is left, and the processor
    /// time that the spin took. A virtual clock does not go on by itself: there the function does not spin.
    package func spin(
        until deadline_ns: Int64,
        from begun_ns: Int64,
        atMost longest_ns: Int64 = .max
    ) -> (now_ns: Int64, spun_ns: Int64) {
        if virtual != nil { return (begun_ns, 0) }
        var spun_ns: Int64 = 0
        let now_ns = unsafe hrt_spin_until(kernelClock, deadline_ns, begun_ns, longest_ns, &spun_ns)
        return (now_ns, spun_ns)
    }

    /// Returns the reading of a virtual time's monotonic clock when this clock reads `instant_ns`, by the present
    /// difference of the two clocks. Returns `instant_ns` on the kernel's time.
    package func monotonic_ns(_ instant_ns: Int64) -> Int64 {
        guard let virtual, instant_ns < .max else { return instant_ns }
        return instant_ns.subtractingSaturating(virtual.offset_ns(of: clock))
    }
}
#endif

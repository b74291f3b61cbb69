import CHRTimer

/// Where an engine or a loop takes its time from: the kernel, or a virtual clock under a test's control.
///
/// A value of this type goes into a configuration; `.kernel` is the default everywhere. A virtual one comes from
/// `ManualTime` of the module HRTimerTesting.
public struct TimeBase: Sendable {
    /// Nil for the kernel's clocks.
    package let virtual: (any VirtualTime)?
    /// Which of the clocks is read.
    package let clock: TimerClock

    /// The kernel's clocks, and real waiting.
    public static let kernel = TimeBase(virtual: nil)

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

    /// When a virtual monotonic clock reads what this clock has as `instant_ns`, as the two stand to each other now.
    package func monotonic_ns(_ instant_ns: Int64) -> Int64 {
        guard let virtual, instant_ns < .max else { return instant_ns }
        return instant_ns.subtractingSaturating(virtual.offset_ns(of: clock))
    }
}

/// Clocks that move only when they are told to. Any thread.
package protocol VirtualTime: AnyObject, Sendable {
    /// What the monotonic clock reads.
    var now_ns: Int64 { get }

    /// How far another clock is ahead of the monotonic one; 0 for that one itself.
    func offset_ns(of clock: TimerClock) -> Int64

    /// From now on, moving the clock runs what is due at `participant`. Held weakly.
    func attach(_ participant: any VirtualTimeParticipant)

    /// For a thread that has nothing to do before `deadline_ns`: moves the clock there, running on the way what falls due at
    /// the participants, and stops early as soon as `isWoken` holds.
    ///
    /// False if there is no deadline to move to, here or at any participant: the caller must then wait for real.
    func wait(until deadline_ns: Int64, isWoken: () -> Bool) -> Bool
}

/// Something that runs timers when the virtual clock reaches them, on the thread that moves the clock.
package protocol VirtualTimeParticipant: AnyObject, Sendable {
    /// The earliest deadline on the monotonic clock, or `Int64.max`.
    var nextDeadline_ns: Int64 { get }

    /// Runs all that is due at the clock's present reading; not what falls due while it does so.
    func runDue()
}

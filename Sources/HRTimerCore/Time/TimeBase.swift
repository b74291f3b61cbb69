import CHRTimer

/// Where an engine or a loop takes its time from: the kernel, or a virtual clock under a test's control.
///
/// A value of this type goes into a configuration; `.kernel` is the default everywhere. A virtual one comes from
/// `ManualTime` of the module HRTimerTesting.
public struct TimeBase: Sendable {
    /// Nil for the kernel's monotonic clock.
    package let virtual: (any VirtualTime)?

    /// `CLOCK_MONOTONIC`, and real waiting.
    public static let kernel = TimeBase(virtual: nil)

    package init(virtual: (any VirtualTime)?) {
        self.virtual = virtual
    }

    /// What the clock reads now.
    @inline(__always)
    package var now_ns: Int64 {
        if let virtual { return virtual.now_ns }
        return hrt_clock_now_ns(HRT_CLOCK_MONOTONIC)
    }
}

/// A clock that moves only when it is told to. Any thread.
package protocol VirtualTime: AnyObject, Sendable {
    var now_ns: Int64 { get }

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
    /// The earliest deadline, or `Int64.max`.
    var nextDeadline_ns: Int64 { get }

    /// Runs all that is due at the clock's present reading.
    func runDue()
}

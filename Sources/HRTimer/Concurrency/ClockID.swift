public import HRTimerCore

/// Which clock it is whose instants a `MonotonicClock`, `BootTimeClock` or `WallClock` has: those with equal ids read
/// the same, even if different engines fire their sleeps. Nested deadlines of one id are one deadline; see
/// `withDeadline(_:tolerance:clock:operation:)`.
public struct TimerClockID: Hashable, Sendable {
    /// Which of the clocks.
    public let clock: TimerClock
    /// Good as long as somebody holds that time, as every clock on it does.
    private let time: TimeID

    init(_ time: TimeBase) {
        clock = time.clock
        self.time = time.id
    }

    /// Whether it is virtual, a test's.
    public var isVirtual: Bool { time.isVirtual }
}

extension MonotonicClock: Identifiable {
    /// Equal for all on the kernel's clock, and for all on one virtual time.
    public var id: TimerClockID { TimerClockID(time) }
}

extension EngineClock: Identifiable {
    /// Equal for all on the kernel's clock, and for all on one virtual time.
    public var id: TimerClockID { TimerClockID(time) }
}

#if compiler(>=6.2) && !compiler(>=6.5)
/// Which of the standard library's clocks it is, as Swift 6.5 has it: a package may write `where C.ID == SystemClockID`.
///
/// The standard library may have more clocks one day: a `switch` needs a `default` there.
public enum SystemClockID: Hashable, Sendable {
    /// `ContinuousClock`, Linux's `CLOCK_BOOTTIME`.
    case continuous
    /// `SuspendingClock`, Linux's `CLOCK_MONOTONIC`.
    case suspending
}

extension ContinuousClock: @retroactive Identifiable {
    /// Equal for all. The standard library has it from Swift 6.5 on.
    public var id: SystemClockID { .continuous }
}

extension SuspendingClock: @retroactive Identifiable {
    /// Equal for all. The standard library has it from Swift 6.5 on.
    public var id: SystemClockID { .suspending }
}
#endif

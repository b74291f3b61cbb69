// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// The identity of a `MonotonicClock`, `BootTimeClock` or `WallClock`. Clocks with equal ids have the same reading, even if
/// different engines fire their sleeps. Nested deadlines on clocks of one id act as one deadline; see
/// `withDeadline(_:tolerance:clock:operation:)`.
struct TimerClockID: Hashable, Sendable {
    private let clock: TimerClock
    /// The identity of the clock's time. Valid as long as that time exists; every clock on it keeps it alive.
    private let time: TimeID

    init(_ time: TimeBase) {
        clock = time.clock
        self.time = time.id
    }
}

#if !compiler(>=6.5)
/// The identity of the standard library's clocks, as in Swift 6.5: a package may write `where C.ID == SystemClockID`.
///
/// The standard library may get more clocks: a `switch` needs a `default`.
public enum SystemClockID: Hashable, Sendable {
    /// `ContinuousClock`, Linux's `CLOCK_BOOTTIME`.
    case continuous
    /// `SuspendingClock`, Linux's `CLOCK_MONOTONIC`.
    case suspending
}

extension ContinuousClock: @retroactive Identifiable {
    /// Equal for all instances.
    ///
    /// The standard library has it from Swift 6.5 on.
    public var id: SystemClockID { .continuous }
}

extension SuspendingClock: @retroactive Identifiable {
    /// Equal for all instances.
    ///
    /// The standard library has it from Swift 6.5 on.
    public var id: SystemClockID { .suspending }
}
#endif
#endif

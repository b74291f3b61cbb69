// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if compiler(>=6.3) && !HRTIMER_NO_CUSTOM_EXECUTORS
import HRTimer

/// The deadline of a sleep, on any clock.
enum SleepDeadline: Sendable {
    /// On `CLOCK_MONOTONIC`, in ns. `SuspendingClock` reads this clock on Linux.
    case monotonic(Int64)
    /// On `CLOCK_BOOTTIME`, in ns. `ContinuousClock` reads this clock on Linux.
    case bootTime(Int64)
    /// On another clock. `remaining` returns how long to wait until that clock must be read again; nil when it has reached
    /// the instant.
    case other(remaining: @Sendable () -> Duration?)

    init<C: Clock>(_ instant: C.Instant, _ clock: C) {
        // Compares the clock's type, since a cast would search the runtime's tables. Safe: the instants of these clocks
        // have these types.
        if C.self == ContinuousClock.self {
            let instant = unsafe unsafeBitCast(instant, to: ContinuousClock.Instant.self)
            self = .bootTime(ContinuousClock().systemEpoch.duration(to: instant).nanosecondsRoundedUp)
        } else if C.self == SuspendingClock.self {
            let instant = unsafe unsafeBitCast(instant, to: SuspendingClock.Instant.self)
            self = .monotonic(SuspendingClock().systemEpoch.duration(to: instant).nanosecondsRoundedUp)
        } else {
            self = .other {
                let now = clock.now
                guard now < instant else { return nil }
                // A clock with other units, or one that stands still, is read every millisecond.
                return max(.milliseconds(1), now.duration(to: instant) as? Duration ?? .zero)
            }
        }
    }

    /// How long the deadline is ahead, or until its clock must be read again; nil if it has come. The standard library's clocks
    /// are the kernel's, also for code in virtual time.
    var remaining_ns: Int64? {
        let wait_ns =
            switch self {
            case .monotonic(let deadline_ns): deadline_ns.subtractingSaturating(TimeBase.kernel.now_ns)
            case .bootTime(let deadline_ns): deadline_ns.subtractingSaturating(TimeBase.kernel.on(.bootTime).now_ns)
            case .other(let remaining): remaining()?.nanosecondsRoundedUp ?? 0
            }
        return wait_ns > 0 ? wait_ns : nil
    }
}
#endif
#endif

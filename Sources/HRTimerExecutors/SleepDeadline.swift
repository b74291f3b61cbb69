#if compiler(>=6.3)
import HRTimer

/// When a sleep is over, on whatever clock.
enum SleepDeadline: Sendable {
    /// `CLOCK_MONOTONIC`, ns: what `SuspendingClock` reads on Linux.
    case monotonic(Int64)
    /// `CLOCK_BOOTTIME`, ns: what `ContinuousClock` reads on Linux.
    case bootTime(Int64)
    /// How long to wait until the clock is to be asked again; nil when it has come to the instant.
    case other(remaining: @Sendable () -> Duration?)

    init<C: Clock>(_ instant: C.Instant, _ clock: C) {
        switch instant {
        case let instant as SuspendingClock.Instant:
            self = .monotonic(SuspendingClock().systemEpoch.duration(to: instant).nanosecondsRoundedUp)
        case let instant as ContinuousClock.Instant:
            self = .bootTime(ContinuousClock().systemEpoch.duration(to: instant).nanosecondsRoundedUp)
        case let instant as MonotonicInstant:
            self = .monotonic(instant.nanoseconds)
        case let instant as BootTimeInstant:
            self = .bootTime(instant.nanoseconds)
        default:
            self = .other {
                let now = clock.now
                guard now < instant else { return nil }
                // A clock that has units of its own, or stands still, is asked every millisecond.
                return max(.milliseconds(1), now.duration(to: instant) as? Duration ?? .zero)
            }
        }
    }
}
#endif

#if compiler(>=6.3)
import HRTimer

/// The deadline of a sleep, on any clock.
enum SleepDeadline: Sendable {
    /// `CLOCK_MONOTONIC`, ns: what `SuspendingClock` reads on Linux.
    case monotonic(Int64)
    /// `CLOCK_BOOTTIME`, ns: what `ContinuousClock` reads on Linux.
    case bootTime(Int64)
    /// How long to wait until the clock is to be asked again; nil when it has come to the instant.
    case other(remaining: @Sendable () -> Duration?)

    init<C: Clock>(_ instant: C.Instant, _ clock: C) {
        // By the clock's type, which is a comparison, where a cast looks through what the runtime knows of both types.
        // Unsafe: the instants of these clocks are of these types.
        if C.self == ContinuousClock.self {
            let instant = unsafeBitCast(instant, to: ContinuousClock.Instant.self)
            self = .bootTime(ContinuousClock().systemEpoch.duration(to: instant).nanosecondsRoundedUp)
        } else if C.self == SuspendingClock.self {
            let instant = unsafeBitCast(instant, to: SuspendingClock.Instant.self)
            self = .monotonic(SuspendingClock().systemEpoch.duration(to: instant).nanosecondsRoundedUp)
        } else if let instant = instant as? MonotonicInstant {
            self = .monotonic(instant.nanoseconds)
        } else if let instant = instant as? BootTimeInstant {
            self = .bootTime(instant.nanoseconds)
        } else {
            self = .other {
                let now = clock.now
                guard now < instant else { return nil }
                // A clock that has units of its own, or stands still, is asked every millisecond.
                return max(.milliseconds(1), now.duration(to: instant) as? Duration ?? .zero)
            }
        }
    }

    var isPast: Bool {
        switch self {
        case .monotonic(let deadline_ns): deadline_ns <= TimeBase.kernel.now_ns
        case .bootTime(let deadline_ns): deadline_ns <= TimeBase.kernel.on(.bootTime).now_ns
        case .other(let remaining): remaining() == nil
        }
    }
}
#endif

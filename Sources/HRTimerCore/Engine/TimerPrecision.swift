#if os(Linux)
/// How exact a timer is to be, and at what price. An engine or a loop has one for all its timers; a timer may request
/// more.
public enum TimerPrecision: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Tolerance is real: timers whose windows, from the deadline to the deadline plus tolerance, overlap share one wake-up,
    /// at the earliest end of a window. Never before a deadline; after the end of a window by the wake latency alone.
    case coalesced
    /// The kernel is armed for each deadline, whatever the tolerance. Late by the kernel's wake latency. A sleeping task that
    /// resumes on another thread is called earlier by what half of the ways there take, as learned, and spins the rest, if
    /// there is any; unless the engine has a `latenessWatch`.
    case normal
    /// The thread has itself woken a little before the deadline and reads the clock until it has come. How much before
    /// follows the wake latencies seen lately, within the `spinBudget` of its engine or loop; before a long sleep it may wake
    /// twice. Most fires are late by less than a microsecond at 1 kHz. In the last 4 µs before its deadline a call can be
    /// cancelled or moved no more, as if its handler ran already. On a clock that ticks once a millisecond or so, as in some
    /// containers, it counts as `.normal`, and says so once (`UsageWarning`).
    case precise

    /// From cheap to exact.
    public static func < (left: TimerPrecision, right: TimerPrecision) -> Bool {
        left.rawValue < right.rawValue
    }
}
#endif

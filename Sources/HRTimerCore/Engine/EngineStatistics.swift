#if os(Linux)
/// What an engine did since it was started.
public struct EngineStatistics: Sendable, Hashable {
    /// Handlers called.
    public var fires: UInt64 = 0
    /// Nominal deadlines that had no call of their own, those of calls on queues and actors too.
    public var missedTicks: UInt64 = 0
    /// Times the thread came back from a wait; a precise one that woke twice counts once.
    public var wakeups: UInt64 = 0
    /// Those of them that found nothing due.
    public var spuriousWakeups: UInt64 = 0
    /// Wake-ups that were not needed because timers with different deadlines were fired by one.
    public var wakeupsSaved: UInt64 = 0
    /// Times another thread had to wake the engine for an earlier deadline.
    public var wakesSent: UInt64 = 0
    /// Time the thread read the clock instead of sleeping, for `.precise`. The difference of two readings by the time between
    /// them is the spun share of a core.
    public var spinTime: Duration = .zero
    /// Wakes a spin window before a precise deadline.
    public var earlyWakes: UInt64 = 0
    /// Those of them that came before the deadline: the others were later than the window was long.
    public var earlyWakesInTime: UInt64 = 0
    /// What keeps the latest spin window from being longer; nil before the first.
    public var spinLimit: SpinLimit?

    /// What late fires were made of, those beyond the least bound of `onLate(beyond:)`; none before somebody watches.
    public var lateness = LatenessStatistics()

    /// The part of the early wakes that came before the deadline; nil before the first. To be compared with the `spinCoverage`
    /// asked for.
    public var spinCoverage: Double? {
        earlyWakes == 0 ? nil : Double(earlyWakesInTime) / Double(earlyWakes)
    }

    package init() {}
}

/// What keeps a spin window from being longer.
public enum SpinLimit: Sendable, Hashable {
    /// It covers the part of the wakes that was asked for, or all for which that is worth it.
    case coverage
    /// The budget: its engine's or loop's own, or that of the process.
    case budget
    /// A fire may expect to spin 250 µs at most.
    case longestSpin
}
#endif

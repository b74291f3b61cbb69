/// What an engine did since it was started.
public struct EngineStatistics: Sendable, Hashable {
    /// Handlers called.
    public var fires: UInt64 = 0
    /// Nominal deadlines that had no call of their own, those of calls on queues and actors too.
    public var missedTicks: UInt64 = 0
    /// Times the thread came back from a wait.
    public var wakeups: UInt64 = 0
    /// Those of them that found nothing due.
    public var spuriousWakeups: UInt64 = 0
    /// Wake-ups that were not needed because timers with different deadlines were fired by one.
    public var wakeupsSaved: UInt64 = 0
    /// Times another thread had to wake the engine for an earlier deadline.
    public var wakesSent: UInt64 = 0
    /// Time the thread read the clock instead of sleeping, for `.precise`.
    public var spinTime: Duration = .zero

    package init() {}
}

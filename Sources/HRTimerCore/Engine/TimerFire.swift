#if os(Linux)
/// One fire of a timer, as its handler sees it.
public struct TimerFire: Sendable {
    /// The timer that fired.
    public let token: TimerToken
    /// The nominal deadline, as requested.
    public let deadline: MonotonicInstant
    /// The clock's reading right before the call; never earlier than `deadline`.
    public let firedAt: MonotonicInstant
    /// How many nominal deadlines since the previous call had no call of their own; see `MissedTickPolicy`.
    public let missedTicks: Int

    package init(token: TimerToken, deadline_ns: Int64, firedAt_ns: Int64, missedTicks: Int) {
        self.token = token
        deadline = MonotonicInstant(nanoseconds: deadline_ns)
        firedAt = MonotonicInstant(nanoseconds: firedAt_ns)
        self.missedTicks = missedTicks
    }

    /// How late the fire was: `firedAt` minus `deadline`, never negative. For a timer that was armed after its deadline,
    /// that is more than the engine was late: `engine.lateness` counts such a fire from its arming.
    public var lateness: Duration { deadline.duration(to: firedAt) }
}
#endif

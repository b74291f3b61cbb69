#if os(Linux)
public import HRTimerCore

extension ClockTimerEngine<WallInstant> {
    /// Calls `handler` at each date of a schedule that lies after now, never before it and never twice for one.
    ///
    /// The timer follows the wall clock. Set forward, what the step passes is due at once, and is one call or more by the
    /// `policy`: see `MissedTickPolicy`, whose deadlines are the dates here. Set back, the timer waits until the clock comes to its
    /// next date again, and no date that it was called for is called again. At most 1000 missed dates are counted one by one.
    ///
    /// `reschedule` moves the next call, and nothing else: after it the dates go on; an interval given there counts for
    /// nothing. The timer ends, and its handler is freed, with the last date of the schedule; the token is stale at once if there
    /// is none. `tolerance` counts as it is given. All else is as in `schedule(at:every:tolerance:precision:policy:handler:)`.
    ///
    /// Complexity: Foundation computes a date on the engine's thread, after each call, and one here.
    @discardableResult
    public func schedule(
        by schedule: CalendarSchedule,
        tolerance: Duration = .zero,
        precision: TimerPrecision? = nil,
        policy: MissedTickPolicy = .merge,
        handler: @escaping @Sendable (Fire) -> Void
    ) -> TimerToken {
        var request = TimerRequest()
        request.tolerance_ns = tolerance.nanosecondsRoundedUp
        request.precision = precision
        let position = DatePosition(ScheduledDates(schedule), after: now.nanoseconds, policy)
        return core.schedule(at: position, request) { handler(Fire($0)) }
    }
}
#endif

// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension ClockTimerEngine<WallInstant> {
    /// Calls `handler` at each date of a schedule that lies after now, never before a date and never twice for one.
    ///
    /// The timer follows the wall clock. If the clock is set forward, the dates that the step passes are due at once, and
    /// become one call or more by the `policy`: see `MissedTickPolicy`, whose deadlines are the dates here. If it is set
    /// back, the next date is computed anew: the first one after the clock's new reading that was not called for. Dates that a
    /// call only counted as missed are called for then. A date more than a week ahead counts as one that was not called for: the
    /// clock was wrong before. At most 1000 missed dates are counted one by one.
    ///
    /// `reschedule` moves only the next call: after it the dates go on, and an interval given there is ignored. With the last
    /// date of the schedule the timer ends, and its handler is freed; if there is no date, the token is stale at once.
    /// `tolerance` counts as it is given. All else is as in `schedule(at:every:tolerance:precision:policy:handler:)`.
    ///
    /// Complexity: one date is computed on the engine's thread after each call, and one in this function, with the help of
    /// Foundation. The date of a rule is computed by another thread, for which the engine's thread waits a second at most; see
    /// `CalendarSchedule`.
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

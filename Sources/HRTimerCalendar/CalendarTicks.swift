// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension EngineClock<WallInstant> {
    /// Returns ticks at the dates of a schedule, as an `AsyncSequence` that never fails.
    ///
    ///     for await tick in WallClock().ticks(by: evening) { print(Date(tick.firedAt)) }
    ///
    /// No tick comes before its date. When the clock is set back, the next date is computed anew, and none comes that came before,
    /// unless it lies more than a week ahead then; see `schedule(by:tolerance:precision:policy:handler:)`. A consumer's first tick
    /// is the first date after its iterator was made; dates that pass while it is busy are missed ticks, by the
    /// `MissedTickPolicy`. Nothing is buffered, and a sequence that no task waits for costs no wake-up.
    ///
    /// The sequence ends, for good, after the last date of the schedule, when its task is cancelled, by `cancel()`, and when the
    /// engine is shut down. Several tasks may iterate over one sequence: each gets all ticks, at its own pace.
    ///
    /// - Parameters:
    ///   - schedule: the dates.
    ///   - tolerance: how much later a tick may come to share a wake-up.
    ///   - policy: what happens to dates for which the consumer was too busy.
    public func ticks(
        by schedule: CalendarSchedule,
        tolerance: Duration = .zero,
        policy: MissedTickPolicy = .merge
    ) -> some TickSequence<WallInstant> {
        CalendarTicks(ticks: SharedTicks(on: host, ScheduledDates(schedule), policy), tolerance: tolerance)
    }
}

private struct CalendarTicks: TickSequence {
    typealias Instant = WallInstant
    typealias Element = TimerTick<WallInstant>
    typealias Failure = Never

    let ticks: SharedTicks<DateTicks>
    let tolerance: Duration

    func cancel() { ticks.cancel() }

    var isCancelled: Bool { ticks.isCancelled }

    func makeAsyncIterator() -> Iterator { Iterator(consumer: ticks.makeConsumer(tolerance: tolerance)) }

    struct Iterator: AsyncIteratorProtocol {
        var consumer: TickConsumer<DateTicks>

        mutating func next(isolation actor: isolated (any Actor)?) async -> TimerTick<WallInstant>? {
            await consumer.next().map { TimerTick($0) }
        }
    }
}
#endif

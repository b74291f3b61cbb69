#if os(Linux)
public import HRTimer
public import HRTimerCore

/// Ticks of the wall clock at the dates of a schedule, as an `AsyncSequence` that never fails.
///
///     for await tick in WallClock().ticks(by: evening) { print(Date(tick.firedAt)) }
///
/// No tick comes before its date. When the clock is set back, the next date is computed anew, and none comes that came before,
/// unless it lies more than a week ahead then; see `schedule(by:tolerance:precision:policy:handler:)`. A consumer's first tick is
/// the first date after its iterator was made; dates that pass while it is busy are missed ticks, by the `MissedTickPolicy`.
/// Nothing is buffered, and a sequence that no task waits for costs no wake-up.
///
/// The sequence ends, for good, after the last date of the schedule, when its task is cancelled, by `cancel()`, and when the
/// engine is shut down. Several tasks may iterate over one sequence: each gets all ticks, at its own pace.
public struct CalendarTicks: TickSequence {
    /// A point on the wall clock.
    public typealias Instant = WallInstant
    /// What the iterator returns.
    public typealias Element = TimerTick<WallInstant>
    /// The sequence never fails.
    public typealias Failure = Never

    private let ticks: SharedTicks<DateTicks>
    private let tolerance: Duration

    fileprivate init(_ ticks: SharedTicks<DateTicks>, _ tolerance: Duration) {
        self.ticks = ticks
        self.tolerance = tolerance
    }

    /// Ends the sequence for all consumers, now and later; cancelling a task ends only its own iteration. Idempotent, any
    /// thread.
    public func cancel() { ticks.cancel() }

    /// Whether `cancel()` was called.
    public var isCancelled: Bool { ticks.isCancelled }

    /// Returns an iterator that begins at the first date after now.
    public func makeAsyncIterator() -> Iterator { Iterator(consumer: ticks.makeConsumer(tolerance: tolerance)) }

    /// One consumer's iteration.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var consumer: TickConsumer<DateTicks>

        /// Returns the next tick, when its date has come; nil for ever once the sequence has ended.
        public mutating func next() async -> TimerTick<WallInstant>? {
            await next(isolation: nil)
        }

        /// Returns the next tick without leaving the actor that iterates; otherwise as `next()`.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TimerTick<WallInstant>? {
            await consumer.next().map { TimerTick($0) }
        }
    }
}

extension EngineClock<WallInstant> {
    /// Returns ticks at the dates of a schedule; see `CalendarTicks`.
    ///
    /// - Parameters:
    ///   - schedule: the dates.
    ///   - tolerance: how much later a tick may come to share a wake-up.
    ///   - policy: what happens to dates for which the consumer was too busy.
    public func ticks(
        by schedule: CalendarSchedule,
        tolerance: Duration = .zero,
        policy: MissedTickPolicy = .merge
    ) -> CalendarTicks {
        CalendarTicks(SharedTicks(on: host, ScheduledDates(schedule), policy), tolerance)
    }
}
#endif

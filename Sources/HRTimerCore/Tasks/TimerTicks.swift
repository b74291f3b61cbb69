// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// Ticks of a clock on a grid, as an `AsyncSequence` that never fails.
///
///     for await tick in MonotonicClock().ticks(every: .milliseconds(10)) {
///         step(tick.missedTicks + 1)
///     }
///
/// Ticks are never early. The deadlines are start + k × interval, however late a tick is. `missedTicks` reports the ticks
/// that were missed while the consumer was busy, by the `MissedTickPolicy`. Nothing is buffered: missed ticks are computed,
/// and a sequence that no task waits for costs no wake-up. A consumer that is behind gets its next tick at once, but the other
/// tasks of its executor have a turn before.
///
/// An iteration ends, for good, when its task is cancelled, by `cancel()`, and when the engine is shut down. After that
/// there is no tick, not even one whose deadline had come.
///
/// Several tasks may iterate over one sequence: each gets all ticks, at its own pace. Changes by `interval` and
/// `schedule(first:every:)` take effect for all tasks at once: after they return no tick of the former grid comes, except
/// one that a consumer was already given.
public struct TimerTicks<Instant: TimerInstant>: AsyncSequence, Sendable {
    /// A tick, which the iterator returns.
    public typealias Element = TimerTick<Instant>
    /// The sequence never fails.
    public typealias Failure = Never

    private let ticks: SharedTicks<TickGrid>
    private let policy: MissedTickPolicy
    private let tolerance: Duration

    init(_ ticks: SharedTicks<TickGrid>, _ policy: MissedTickPolicy, _ tolerance: Duration) {
        self.ticks = ticks
        self.policy = policy
        self.tolerance = tolerance
    }

    /// The time between two nominal deadlines.
    ///
    /// Zero or less counts as 0.1 ms. Any thread.
    ///
    /// A new interval keeps the phase, as a musician does who changes the tempo: the rest of the present interval shrinks or
    /// grows in proportion. The phase counts from the latest tick's nominal deadline. Set 3 ms after that deadline, a change from
    /// 10 ms to 30 ms puts the next one 3 ms + 70 % of 30 ms, that is 24 ms, after it. Where the instants of all ticks are
    /// planned, as in a piece whose tempo changes, move an engine's timer from its handler instead: `reschedule(_:at:)`. A
    /// consumer's missed ticks of the former interval are
    /// counted in its next tick, under every policy. With `.delay`, where each consumer has its own intervals, the rest of a
    /// consumer's own interval changes in proportion.
    public var interval: Duration {
        get { ticks.read { $0.interval.duration } }
        nonmutating set { ticks.change { grid, now_ns in grid.setInterval(newValue, now_ns: now_ns) } }
    }

    /// Begins a new grid at `first`, or one interval from now if `first` is nil.
    ///
    /// Ticks missed before are forgotten. Any thread.
    public func schedule(first: Instant? = nil, every interval: some TimeSpan) {
        let interval = interval.asDuration ?? .zero
        ticks.change { grid, now_ns in
            grid.schedule(first_ns: first?.nanoseconds, every: interval, now_ns: now_ns)
        }
    }

    /// Ends the sequence for all consumers, present and later ones.
    ///
    /// Cancelling a task ends only its own iteration. Idempotent, any thread.
    public func cancel() { ticks.cancel() }

    /// Whether `cancel()` was called.
    public var isCancelled: Bool { ticks.isCancelled }

    /// The number of ticks that all consumers got so far, the number that they missed, and, once somebody watches, the causes
    /// of late ticks.
    ///
    /// Any thread.
    public var statistics: TimerStatistics { ticks.statistics }

    /// Calls `handler` for each tick that is later than `bound` when its consumer gets it, with the causes of the lateness, in
    /// the consumer's task.
    ///
    /// The returned subscription may be dropped, or kept for `cancel()`.
    ///
    /// A tick whose deadline came while its consumer was still at the former one is late by `handlerBefore`. The time until
    /// the consumer's task goes on after the wait is `delivery`. The clock's engine or loop is watched from then on: see
    /// `AnyTimerEngine.onLate(beyond:_:)`. The handler is called for all consumers, in any task. A tick that `.skip` leaves out
    /// is reported too, with `isLeftOut`.
    @discardableResult
    public func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        ticks.watch(beyond: bound.nanosecondsOrZero).add(beyond: bound.nanosecondsOrZero, handler)
    }

    /// Returns an iterator that begins at the grid's first tick, or at its next one if other consumers have begun before.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: TickConsumer(ticks, at: TickGridPosition(policy), tolerance: tolerance))
    }

    /// One consumer's iteration.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var consumer: TickConsumer<TickGrid>

        /// Returns the next tick when its time has come; nil for ever once the iteration has ended.
        ///
        /// Does not leave the actor that iterates.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TimerTick<Instant>? {
            guard let tick = await consumer.next() else { return nil }
            return TimerTick(tick)
        }
    }
}

/// One tick, as its consumer sees it.
public struct TimerTick<Instant: TimerInstant>: Sendable, Hashable {
    // Not instants: the layout would then depend on their type, and Swift's runtime would look it up for each tick. That took
    // longer than all the rest between the deadline and the consumer.
    private let tick: Tick

    package init(_ tick: Tick) { self.tick = tick }

    /// The nominal deadline: a point of the grid, plus the jitter if the ticks have one.
    public var deadline: Instant { Instant(nanoseconds: tick.deadline_ns) }

    /// The clock's reading when the tick was returned; never earlier than `deadline`.
    public var firedAt: Instant { Instant(nanoseconds: tick.firedAt_ns) }

    /// The number of nominal deadlines without a tick of their own since the last tick; see `MissedTickPolicy`.
    public var missedTicks: Int { tick.missed }

    /// The lateness: `firedAt` minus `deadline`, never negative.
    public var lateness: Duration { .nanoseconds(tick.firedAt_ns) - .nanoseconds(tick.deadline_ns) }
}
#endif

#if os(Linux)
public import HRTimerCore

/// Ticks of a clock on a grid, as an `AsyncSequence` that never fails.
///
///     for await tick in MonotonicClock().ticks(every: .milliseconds(10)) {
///         step(tick.missedTicks + 1)
///     }
///
/// Never early. The deadlines are start + k × interval, however late a tick is; `missedTicks` reports the ticks that
/// were missed while the consumer was busy, by the `MissedTickPolicy`. Nothing is buffered: missed ticks are computed,
/// and a sequence that no task waits for costs no wake-up.
///
/// It ends, for good, when its task is cancelled, by `cancel()`, and when the engine is shut down. After that there is
/// no tick, not even one whose deadline had come.
///
/// Several tasks may iterate over one sequence: each gets all ticks, at its own pace. Changes by `interval` and
/// `schedule(first:every:)` count for all of them at once: after they return no tick of the former grid comes, except
/// one that a consumer was already given.
public struct TimerTicks<Instant: TimerInstant>: AsyncSequence, Sendable {
    /// What the iterator returns.
    public typealias Element = TimerTick<Instant>
    /// None.
    public typealias Failure = Never

    private let grid: TickGrid
    private let policy: MissedTickPolicy
    private let tolerance: Duration

    init(_ grid: TickGrid, _ policy: MissedTickPolicy, _ tolerance: Duration) {
        self.grid = grid
        self.policy = policy
        self.tolerance = tolerance
    }

    /// The time between two nominal deadlines. A new one keeps the phase, as a musician who changes the tempo: the rest
    /// of the present interval shrinks or grows in proportion. Zero or less counts as 0.1 ms. Any thread.
    ///
    /// A consumer's missed ticks of the former tempo are counted in its next tick, under every policy. With `.delay`,
    /// where each consumer has its own intervals, the same holds for the rest of those.
    public var interval: Duration {
        get { grid.interval }
        nonmutating set { grid.setInterval(newValue) }
    }

    /// Begins a new grid at `first`, or one interval from now if it is nil. Ticks missed before are forgotten. Any
    /// thread.
    public func schedule(first: Instant? = nil, every interval: some TimeSpan) {
        grid.schedule(first_ns: first?.nanoseconds, every: interval.asDuration ?? .zero)
    }

    /// Ends it for all consumers, now and later; cancelling a task ends its own iteration alone. Idempotent, any
    /// thread.
    public func cancel() { grid.cancel() }

    /// Whether `cancel()` was called.
    public var isCancelled: Bool { grid.isCancelled }

    /// The ticks of all consumers so far, those that they missed, and what late ones were late by once somebody watches. Any
    /// thread.
    public var statistics: FireStatistics { grid.statistics }

    /// Calls `handler` for each tick that is later than `bound` when its consumer gets it, with what made it late, in the
    /// consumer's task. To be dropped, or kept for `cancel()`.
    ///
    /// Ticks whose deadlines came while their consumer was still at the former one are late by `handlerBefore`; time until its
    /// task goes on after the wait is `delivery`. The clock's engine or loop is watched from then on: see
    /// `AnyTimerEngine.onLate(beyond:_:)`. For all consumers, in any task.
    @discardableResult
    public func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        grid.watch(beyond: bound.nanosecondsOrZero).add(beyond: bound.nanosecondsOrZero, handler)
    }

    /// Begins at the grid's first tick, or at its next one if other consumers have begun before.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: TickConsumer(grid, policy, tolerance))
    }

    /// One consumer's iteration.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var consumer: TickConsumer

        /// The next tick, when its time has come; nil for ever once the sequence has ended.
        public mutating func next() async -> TimerTick<Instant>? {
            await next(isolation: nil)
        }

        /// The same without leaving the actor that iterates.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> TimerTick<Instant>? {
            await consumer.next().map { tick in
                TimerTick(
                    deadline: Instant(nanoseconds: tick.deadline_ns),
                    firedAt: Instant(nanoseconds: tick.firedAt_ns),
                    missedTicks: tick.missed
                )
            }
        }
    }
}

/// One tick, as its consumer sees it.
public struct TimerTick<Instant: TimerInstant>: Sendable, Hashable {
    /// The nominal deadline: a point of the grid; with its jitter, if the ticks have one.
    public let deadline: Instant
    /// The clock's reading when the tick was returned; never earlier than `deadline`.
    public let firedAt: Instant
    /// Nominal deadlines without a tick of their own since the last tick; see `MissedTickPolicy`.
    public let missedTicks: Int

    /// How late: `firedAt` minus `deadline`, never negative.
    public var lateness: Duration { deadline.duration(to: firedAt) }
}

extension MonotonicClock {
    /// Ticks of this clock; see `TimerTicks`.
    ///
    /// - Parameters:
    ///   - interval: between nominal deadlines; zero or less, and NaN, count as 0.1 ms.
    ///   - first: the first one. Nil: one interval after a consumer first waits for a tick. With a past one ticks count
    ///     from there.
    ///   - tolerance: how much later a tick may come to share a wake-up, at most half the interval; as in `sleep`.
    ///   - policy: what happens to ticks for which the consumer was too busy.
    ///   - jitter: how much later than its nominal deadline each tick comes, at random; the same for all consumers. A tick's
    ///     `deadline` has it.
    ///   - phase: where the grid begins, also after `schedule(first:every:)`.
    public func ticks(
        every interval: some TimeSpan,
        first: MonotonicInstant? = nil,
        tolerance: some TimeSpan = Duration.zero,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given
    ) -> TimerTicks<MonotonicInstant> {
        // Captured, so that the clock holds its engine.
        let grid = TickGrid(
            time,
            first_ns: first?.nanoseconds,
            every: interval.asDuration ?? .zero,
            jitter: jitter,
            phase: phase
        ) { self.host }
        return TimerTicks(grid, policy, isStrict ? .zero : tolerance.asDuration ?? .zero)
    }
}

extension EngineClock {
    /// Ticks of this clock; see `TimerTicks` and `MonotonicClock.ticks(every:first:tolerance:policy:jitter:phase:)`.
    ///
    /// When the wall clock is set, ticks follow: a step forward makes the ticks due that it passes, a step back delays
    /// the next one.
    public func ticks(
        every interval: some TimeSpan,
        first: Instant? = nil,
        tolerance: some TimeSpan = Duration.zero,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given
    ) -> TimerTicks<Instant> {
        let grid = TickGrid(
            time,
            first_ns: first?.nanoseconds,
            every: interval.asDuration ?? .zero,
            jitter: jitter,
            phase: phase
        ) { self.host }
        return TimerTicks(grid, policy, tolerance.asDuration ?? .zero)
    }
}
#endif

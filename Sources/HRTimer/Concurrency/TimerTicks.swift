public import HRTimerCore

/// Ticks of a clock on a grid, as an `AsyncSequence` that never fails.
///
///     for await tick in MonotonicClock().ticks(every: .milliseconds(10)) {
///         step(tick.missedTicks + 1)
///     }
///
/// Never early. The deadlines are start + k × interval, however late a tick is; `missedTicks` reports what is missed
/// while the consumer is busy, as the `MissedTickPolicy` has it. Nothing is buffered: what is not consumed is counted
/// by arithmetic, and a sequence that nobody waits for costs no wake-up.
///
/// It ends, for good, when its task is cancelled, with `cancel()`, and when the engine is shut down. From then on there is no
/// tick, not even one whose deadline had come.
///
/// Several tasks may iterate over one sequence: all of them see its ticks, each in its own time. What `interval` and
/// `schedule(first:every:)` change counts for all of them at once, and no tick of the former grid comes after they return; one
/// that a consumer has been given before they were called may still be on its way to it.
public struct TimerTicks<Instant: TimerInstant>: AsyncSequence, Sendable {
    /// What the iterator gives.
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

    /// The time between two nominal deadlines. A new one keeps the phase, as a musician does who changes the tempo: what was
    /// left of the present interval is left of the new one, in proportion. Zero or less counts as 0.1 ms. Any thread.
    ///
    /// Ticks of the former tempo that a consumer has missed are counted in its next tick, under every policy. With `.delay`,
    /// whose intervals are each consumer's own, the same holds for what is left of those.
    public var interval: Duration {
        get { grid.interval }
        nonmutating set { grid.setInterval(newValue) }
    }

    /// Begins a new grid at `first`, one interval from now if it is nil. What was missed before is forgotten. Any thread.
    public func schedule(first: Instant? = nil, every interval: some TimeSpan) {
        grid.schedule(first_ns: first?.nanoseconds, every: interval.asDuration ?? .zero)
    }

    /// Ends it for all who iterate, now and later, whereas cancelling a task ends its own iteration. Idempotent, any thread.
    public func cancel() { grid.cancel() }

    /// Whether `cancel()` was called.
    public var isCancelled: Bool { grid.isCancelled }

    /// Begins at the grid's first tick, or if others have come before at its next one.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: TickConsumer(grid, policy, tolerance))
    }

    /// One consumer's way through the ticks.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var consumer: TickConsumer

        /// The next tick, when it has come; nil for ever once the sequence has ended.
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
    /// The nominal deadline: a point of the grid.
    public let deadline: Instant
    /// What the clock read when the tick was given out; never earlier than `deadline`.
    public let firedAt: Instant
    /// Nominal deadlines without a tick of their own since the tick before; see `MissedTickPolicy`.
    public let missedTicks: Int

    /// How late: `firedAt` minus `deadline`, never negative.
    public var lateness: Duration { deadline.duration(to: firedAt) }
}

extension MonotonicClock {
    /// Ticks of this clock; see `TimerTicks`.
    ///
    /// - Parameters:
    ///   - interval: between nominal deadlines; zero, less, and NaN count as 0.1 ms.
    ///   - first: the first one. Nil: one interval after somebody first waits for a tick. With a past one ticks count from
    ///     there.
    ///   - tolerance: how much later a tick may come to share a wake-up, at most half the interval; as in `sleep`.
    ///   - policy: what becomes of ticks that the consumer was too busy for.
    public func ticks(
        every interval: some TimeSpan,
        first: MonotonicInstant? = nil,
        tolerance: some TimeSpan = Duration.zero,
        policy: MissedTickPolicy = .merge
    ) -> TimerTicks<MonotonicInstant> {
        // Captured, the clock keeps its engine.
        let grid = TickGrid(time, first_ns: first?.nanoseconds, every: interval.asDuration ?? .zero) { self.host }
        return TimerTicks(grid, policy, isStrict ? .zero : tolerance.asDuration ?? .zero)
    }
}

extension EngineClock {
    /// Ticks of this clock; see `TimerTicks` and `MonotonicClock.ticks(every:first:tolerance:policy:)`.
    ///
    /// When the wall clock is set, ticks follow: a step forward makes those due that it passes, a step back delays the next
    /// one.
    public func ticks(
        every interval: some TimeSpan,
        first: Instant? = nil,
        tolerance: some TimeSpan = Duration.zero,
        policy: MissedTickPolicy = .merge
    ) -> TimerTicks<Instant> {
        let grid = TickGrid(time, first_ns: first?.nanoseconds, every: interval.asDuration ?? .zero) { self.host }
        return TimerTicks(grid, policy, tolerance.asDuration ?? .zero)
    }
}

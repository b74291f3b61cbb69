// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// A Swift `Clock` whose sleeps an engine fires: `MonotonicClock`, `BootTimeClock` or `WallClock`.
///
///     try await Task.sleep(until: .now.advanced(by: .milliseconds(5)), clock: .monotonic)
///     try await Task.sleep(until: .now.advanced(by: .seconds(3600)), clock: .bootTime)
///
/// It works wherever code takes a clock, and serves every task. The clock of an engine on virtual time is virtual.
///
/// Boot time goes on while the system is suspended. So does the wall clock, which may also be set: a step forward past the
/// deadline wakes a sleeper at once, and a step back makes it sleep longer.
public struct EngineClock<Instant: TimerInstant>: Clock {
    /// Swift's own duration.
    public typealias Duration = Swift.Duration

    /// The engine that fires the sleeps; nil for the nearest host.
    private let engine: ClockTimerEngine<Instant>?
    /// Whether tolerances are ignored.
    private let isStrict: Bool

    /// Creates a clock whose sleeps are fired where the task runs, if that is a `TimerExecutor` and the clock is monotonic, and
    /// otherwise by the shared engine.
    public init() {
        engine = nil
        isStrict = false
    }

    /// Creates a clock whose sleeps `engine` fires.
    public init(engine: ClockTimerEngine<Instant>) {
        self.engine = engine
        isStrict = false
    }

    /// The clock's present reading.
    public var now: Instant { engine?.now ?? .now }

    /// One nanosecond, the unit of the kernel's interface.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until the clock reads `deadline` or later; never shorter.
    ///
    /// A past deadline sleeps not at all, but lets the other tasks of the executor have a turn, so that a loop that is behind
    /// does not starve them. `distantFuture` sleeps until cancelled. Cancelling the task ends the sleep at once
    /// and removes its timer. The only error is `CancellationError`: for a cancelled task, and if the engine is shut down,
    /// or the loop ends, before or during the sleep.
    ///
    /// The thread of the engine, or of the loop, wakes at the deadline. A task that runs there by a `TimerExecutor` resumes
    /// at once; any other resumes on its own executor, one hop later. An engine that does not coalesce wakes earlier by the
    /// learned length of that hop, and the task waits for the rest. A call from an actor does not leave the
    /// actor.
    ///
    /// `tolerance` is how much later the thread may wake to share a wake-up. An engine in `.coalesced` precision, such as
    /// `TimerEngine.shared`, uses it; other engines wake at the deadline. Zero requests the deadline. So does nil, but an engine
    /// that coalesces and has more than 4096 pending timers may then wait longer by a thousandth of the sleep's length, at
    /// least 50 µs and at most 1 ms. The shared engine of a virtual time does not coalesce.
    ///
    /// A sleep costs one allocation, and arming and disarming a timer in the queue.
    public nonisolated(nonsending) func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await Sleeper.sleep(on: host, plan(deadline, tolerance))
        withExtendedLifetime(engine) {}
    }

    /// Returns the ticks of this clock; see `TimerTicks`.
    ///
    /// A step of the wall clock forward makes the ticks that it passes due; a step back delays the next one.
    ///
    /// - Parameters:
    ///   - interval: the time between nominal deadlines; zero or less, and NaN, count as 0.1 ms.
    ///   - first: the first deadline. If it is nil, one interval after a consumer first waits for a tick. If it is past,
    ///     ticks count from there.
    ///   - tolerance: how much later a tick may come to share a wake-up, at most half the interval; as in `sleep`.
    ///   - policy: what happens to ticks for which the consumer was too busy.
    ///   - jitter: how much later than its nominal deadline each tick comes, at random; the same for all consumers. A tick's
    ///     `deadline` includes it.
    ///   - phase: where the grid begins, also after `schedule(first:every:)`.
    public func ticks(
        every interval: some TimeSpan,
        first: Instant? = nil,
        tolerance: some TimeSpan = Duration.zero,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given
    ) -> TimerTicks<Instant> {
        let interval = interval.asDuration ?? .zero
        let grid = TickGrid(time, first_ns: first?.nanoseconds, every: interval, jitter: jitter, phase: phase)
        // Captured, so that the sequence holds the clock's engine.
        let ticks = SharedTicks(time, grid) { self.host }
        return TimerTicks(ticks, policy, isStrict ? .zero : tolerance.asDuration ?? .zero)
    }

    package func plan(_ deadline: Instant, _ tolerance: Duration?) -> Sleeper.Plan {
        Sleeper.Plan(until: deadline.nanoseconds, tolerance: isStrict ? .zero : tolerance)
    }

    /// The host that fires a sleep that begins now.
    package var host: any TimerHost {
        if let engine { return engine.core }
        let time = time
        // Only a host on the same clock: sleeps end by this clock's own reading.
        if let host = JobQueue.current?.host, host.time.isSame(as: time), host.time.clock == time.clock { return host }
        return AnyTimerEngine.shared(on: time).core
    }

    private var time: TimeBase { engine?.core.time ?? .current.on(Instant.clock) }
}

/// The monotonic clock, `CLOCK_MONOTONIC`.
public typealias MonotonicClock = EngineClock<MonotonicInstant>

/// The clock of boot time, which goes on while the system is suspended.
public typealias BootTimeClock = EngineClock<BootTimeInstant>

/// The clock of the time of day, which follows steps.
public typealias WallClock = EngineClock<WallInstant>

extension EngineClock<MonotonicInstant> {
    /// Creates a clock whose sleeps have that precision, also on a `TimerExecutor`: for code that has no engine of its own.
    ///
    /// * `.coalesced`: the shared engine, which uses tolerances.
    /// * `.normal`: the same engine, which wakes at each deadline, even if the sleep has a tolerance.
    /// * `.precise`: a second engine, started at first use and shared by all such clocks. Its thread spins up to deadlines
    ///   within the default `spinBudget`, and so does the sleeping task. Traps like `TimerEngine.shared` if no thread can be
    ///   created.
    public init(precision: TimerPrecision) {
        engine = TimerEngine.shared(precision)
        isStrict = precision != .coalesced
    }
}

extension EngineClock: Identifiable {
    /// Equal for all clocks that read the same clock of the kernel, and for all such clocks on one virtual time.
    public var id: some Hashable & Sendable { TimerClockID(time) }
}

extension Clock where Self == MonotonicClock {
    /// The monotonic clock of the shared engine.
    public static var monotonic: MonotonicClock { MonotonicClock() }
}

extension Clock where Self == BootTimeClock {
    /// The boot-time clock of the shared engine.
    public static var bootTime: BootTimeClock { BootTimeClock() }
}

extension Clock where Self == WallClock {
    /// The wall clock of the shared engine.
    public static var wall: WallClock { WallClock() }
}
#endif

#if os(Linux)
public import HRTimerCore

/// A Swift `Clock` on `CLOCK_MONOTONIC` whose sleeps are fired by a `TimerEngine`.
///
///     try await Task.sleep(until: .now.advanced(by: .milliseconds(5)), clock: MonotonicClock())
///
/// It works wherever code takes a clock, and serves every task. The clock of an engine on virtual time is virtual.
public struct MonotonicClock: Clock {
    /// A point on the monotonic clock.
    public typealias Instant = MonotonicInstant
    /// Swift's own duration.
    public typealias Duration = Swift.Duration

    /// The engine that fires the sleeps; nil for the nearest host.
    private let engine: TimerEngine?
    /// Whether tolerances are ignored.
    let isStrict: Bool

    /// Creates a clock whose sleeps are fired where the task runs, if that is a `TimerExecutor`, and otherwise by the shared
    /// engine.
    public init() {
        engine = nil
        isStrict = false
    }

    /// Creates a clock whose sleeps `engine` fires.
    public init(engine: TimerEngine) {
        self.engine = engine
        isStrict = false
    }

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

    /// The clock's present reading.
    public var now: MonotonicInstant { engine?.now ?? .now }

    /// One nanosecond, the unit of the kernel's interface.
    public var minimumResolution: Duration { .nanoseconds(1) }

    #if compiler(>=6.2)
    /// Suspends the task until the clock reads `deadline` or later; never shorter.
    ///
    /// A past deadline sleeps not at all, but lets the other tasks of the executor have a turn, so that a loop that is behind
    /// does not starve them. `distantFuture` sleeps until cancelled. Cancelling the task ends the sleep at once
    /// and removes its timer. The only error is `CancellationError`: for a cancelled task, and if the engine is shut down,
    /// or the loop ends, before or during the sleep.
    ///
    /// The thread of the engine, or of the loop, wakes at the deadline. A task that runs there by a `TimerExecutor` resumes
    /// at once; any other resumes on its own executor, one hop later. An engine that does not coalesce wakes earlier by the
    /// learned length of that hop, and the task waits for the rest. With Swift 6.2 or newer a call from an actor does not
    /// leave the actor.
    ///
    /// `tolerance` is how much later the thread may wake to share a wake-up. An engine in `.coalesced` precision, such as
    /// the shared one, uses it; other engines wake at the deadline. Zero requests the deadline. So does nil, but an engine
    /// that coalesces and has more than 4096 pending timers may then wait longer by a thousandth of the sleep's length, at
    /// least 50 µs and at most 1 ms. The shared engine of a virtual time does not coalesce.
    ///
    /// A sleep costs one allocation, and arming and disarming a timer in the queue.
    public nonisolated(nonsending) func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws
    {
        try await Sleeper.sleep(on: host, plan(deadline, tolerance))
        withExtendedLifetime(engine) {}
    }
    #else
    /// Suspends the task until the clock reads `deadline` or later; never shorter. See the documentation for Swift 6.2.
    public func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws {
        try await Sleeper.sleep(on: host, plan(deadline, tolerance))
        withExtendedLifetime(engine) {}
    }
    #endif

    func plan(_ deadline: MonotonicInstant, _ tolerance: Duration?) -> Sleeper.Plan {
        Sleeper.Plan(until: deadline.nanoseconds, tolerance: isStrict ? .zero : tolerance)
    }

    /// The host that fires a sleep that begins now.
    var host: TimerHost {
        if let engine { return .engine(engine.core) }
        // Only a host on the same time: a clock's sleeps end by the clock's own reading.
        if let host = JobQueue.current?.host, host.time.isSame(as: .current) { return host }
        return .engine(TimerEngine.shared.core)
    }

    var time: TimeBase { engine?.core.time ?? .current }
}

extension Clock where Self == MonotonicClock {
    /// The monotonic clock of the shared engine.
    public static var monotonic: MonotonicClock { MonotonicClock() }
}
#endif

public import HRTimerCore

/// A Swift `Clock` on `CLOCK_MONOTONIC` whose sleeps are fired by a `TimerEngine`.
///
///     try await Task.sleep(until: .now.advanced(by: .milliseconds(5)), clock: MonotonicClock())
///
/// It works wherever a clock is asked for, and serves every task; the clock of an engine on virtual time is virtual.
public struct MonotonicClock: Clock {
    /// A point on the monotonic clock.
    public typealias Instant = MonotonicInstant
    /// Swift's own duration.
    public typealias Duration = Swift.Duration

    /// Nil for the one that is nearest.
    private let engine: TimerEngine?
    /// What is said of tolerance counts for nothing.
    let isStrict: Bool

    /// A clock whose sleeps are fired where the task runs, if that is a `TimerExecutor`, and by the shared engine
    /// elsewhere.
    public init() {
        engine = nil
        isStrict = false
    }

    /// A clock whose sleeps `engine` fires.
    public init(engine: TimerEngine) {
        self.engine = engine
        isStrict = false
    }

    /// A clock whose sleeps are as exact as that, for code that has no engine of its own; also on a `TimerExecutor`.
    ///
    /// * `.coalesced`: the shared engine, on which tolerances count.
    /// * `.normal`: the same engine, which is awake at each deadline, also with a tolerance.
    /// * `.precise`: a second engine, started at first use and shared by all such clocks. Its thread spins up to deadlines
    ///   within the default `spinBudget`, and so does the task that sleeps. Traps like `TimerEngine.shared` where no thread can
    ///   be had.
    public init(precision: TimerPrecision) {
        engine = TimerEngine.shared(precision)
        isStrict = precision != .coalesced
    }

    /// What the clock reads.
    public var now: MonotonicInstant { engine?.now ?? .now }

    /// One nanosecond, the unit of the kernel's interface.
    public var minimumResolution: Duration { .nanoseconds(1) }

    #if compiler(>=6.2)
    /// Suspends the task until the clock reads `deadline` or later; never shorter.
    ///
    /// A past deadline returns at once, `distantFuture` sleeps until cancelled. Cancelling the task ends the sleep at once
    /// and takes the timer out of the queue. Throws `CancellationError` and nothing else: for a task that is cancelled,
    /// and when the engine is shut down, or the loop ends, during or before the sleep.
    ///
    /// The thread of the engine, or of the loop, wakes at the deadline. A task that runs there by a `TimerExecutor` goes on at
    /// once; any other goes on where it belongs, one executor hop later. Called by an actor it does not leave it, which
    /// takes Swift 6.2.
    ///
    /// `tolerance` says how much later the thread may wake to share a wake-up; on an engine in `.coalesced` precision, as the
    /// shared one is, it does, and in the others it wakes at the deadline. Zero asks for the deadline. Nil asks for it too, but
    /// leaves it to an engine that coalesces and has more than 4096 timers pending to wait a thousandth of the sleep's length,
    /// at least 50 µs and at most 1 ms; the shared engine of a virtual time does not coalesce.
    ///
    /// One allocation, and the queue's arm and cancel.
    public nonisolated(nonsending) func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws
    {
        try await Sleeper.sleep(on: host, plan(deadline, tolerance))
        withExtendedLifetime(engine) {}
    }
    #else
    /// Suspends the task until the clock reads `deadline` or later; never shorter. As it is documented for Swift 6.2.
    public func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws {
        try await Sleeper.sleep(on: host, plan(deadline, tolerance))
        withExtendedLifetime(engine) {}
    }
    #endif

    func plan(_ deadline: MonotonicInstant, _ tolerance: Duration?) -> Sleeper.Plan {
        Sleeper.Plan(until: deadline.nanoseconds, tolerance: isStrict ? .zero : tolerance)
    }

    /// Who fires a sleep that begins now.
    var host: TimerHost {
        if let engine { return .engine(engine.core) }
        // What this clock reads is what its sleeps go by.
        if let host = JobQueue.current?.host, host.time.isSame(as: .current) { return host }
        return .engine(TimerEngine.shared.core)
    }

    var time: TimeBase { engine?.core.time ?? .current }
}

extension Clock where Self == MonotonicClock {
    /// The monotonic clock of the shared engine.
    public static var monotonic: MonotonicClock { MonotonicClock() }
}

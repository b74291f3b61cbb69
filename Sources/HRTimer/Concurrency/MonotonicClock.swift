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

    /// A clock whose sleeps are fired where the task runs, if that is a `TimerExecutor` (on the kernel's time), and by the
    /// shared engine elsewhere.
    public init() {
        engine = nil
    }

    /// A clock whose sleeps `engine` fires.
    public init(engine: TimerEngine) {
        self.engine = engine
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
    /// takes Swift 6.2. `tolerance` says how much later the thread may wake to share a wake-up; nil and zero ask for none. An
    /// engine in normal precision wakes at the deadline whatever the tolerance.
    public nonisolated(nonsending) func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws
    {
        try await Sleeper.sleep(on: host, until: deadline.nanoseconds, tolerance: tolerance)
        withExtendedLifetime(engine) {}
    }
    #else
    /// Suspends the task until the clock reads `deadline` or later; never shorter. As it is documented for Swift 6.2.
    public func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws {
        try await Sleeper.sleep(on: host, until: deadline.nanoseconds, tolerance: tolerance)
        withExtendedLifetime(engine) {}
    }
    #endif

    private var host: TimerHost {
        if let engine { return .engine(engine.core) }
        // A test's virtual time is for those who ask for it.
        if let host = JobQueue.current?.host, host.time.virtual == nil { return host }
        return .engine(TimerEngine.shared.core)
    }
}

extension Clock where Self == MonotonicClock {
    /// The monotonic clock of the shared engine.
    public static var monotonic: MonotonicClock { MonotonicClock() }
}

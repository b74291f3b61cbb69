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

    private let engine: TimerEngine

    /// A clock whose sleeps the shared engine fires, or the one given.
    public init(engine: TimerEngine = .shared) {
        self.engine = engine
    }

    /// What the clock reads.
    public var now: MonotonicInstant { engine.now }

    /// One nanosecond, the unit of the kernel's interface.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until the clock reads `deadline` or later; never shorter.
    ///
    /// A past deadline returns at once, `distantFuture` sleeps until cancelled. Cancelling the task ends the sleep at once
    /// and takes the timer out of the queue. Throws `CancellationError` and nothing else: for a task that is cancelled,
    /// and when the engine is shut down during or before the sleep.
    ///
    /// The engine's thread wakes at the deadline; the task goes on where it belongs, one executor hop later. `tolerance`
    /// says how much later the engine may wake to share a wake-up; nil and zero ask for none. An engine in normal precision
    /// wakes at the deadline whatever the tolerance.
    public func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws {
        try await Sleeper.sleep(on: engine.core, until: deadline.nanoseconds, tolerance: tolerance)
        withExtendedLifetime(engine) {}
    }
}

extension Clock where Self == MonotonicClock {
    /// The monotonic clock of the shared engine.
    public static var monotonic: MonotonicClock { MonotonicClock() }
}

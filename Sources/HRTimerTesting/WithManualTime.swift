// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimer
import HRTimerLibc

/// The options of a test in virtual time: how the time begins, and what it allows.
public struct TestTimeOptions: Sendable {
    /// The seed of the order of tasks that are ready at the same time: another seed gives another order.
    ///
    /// Nil for the order in which they became ready.
    public var seed: UInt64?
    /// The first reading of the monotonic clock and of the boot-time clock.
    public var start: MonotonicInstant
    /// The first reading of the wall clock.
    public var wallStart: WallInstant
    /// Whether timers may be pending, and tasks asleep, when the body has returned; otherwise the test fails.
    public var toleratesLeftovers: Bool
    /// Whether tasks of the test run on the main actor too.
    ///
    /// The main actor is then asked before the clock moves, which takes some 0.1 ms each time. A body that belongs to the main
    /// actor need not say so.
    public var usesMainActor: Bool
    /// How long, in real time, the test waits for something outside of virtual time before it fails, or for a task or a handler
    /// that blocks the test's thread or computes on it.
    ///
    /// After five seconds of the latter, other tasks run on a second thread, since the blocking task may wait for them.
    public var patience: Duration
    /// How long a thread may keep the baton before others go on beside it.
    package var slowness = Duration.seconds(5)

    /// Options for a time that begins ten seconds after zero, so that a test may use earlier instants, in the year 2001.
    ///
    /// Nothing may be left at the end, and nobody waits for longer than a minute.
    public init(
        seed: UInt64? = nil,
        start: MonotonicInstant = MonotonicInstant(nanoseconds: 10_000_000_000),
        wallStart: WallInstant = WallInstant(nanoseconds: 1_000_000_000_000_000_000),
        toleratesLeftovers: Bool = false,
        usesMainActor: Bool = false,
        patience: Duration = .seconds(60)
    ) {
        self.seed = seed
        self.start = start
        self.wallStart = wallStart
        self.toleratesLeftovers = toleratesLeftovers
        self.usesMainActor = usesMainActor
        self.patience = patience
    }
}

/// Runs `body` in virtual time: every engine, clock, loop, source, display link and registry that is made in it is on that
/// time, including `.shared` ones, and `.now` of an instant reads that time.
///
/// Nothing sleeps for real.
///
/// The body, its child tasks, and all tasks that they make, run one after the other on one thread. When all of them wait, the
/// clock jumps to the next deadline. So a test is as fast as its work, and repeatable. If a task keeps the thread for five real
/// seconds, for instance until another task cancels it, the others run beside it, and the clock stands still.
///
///     @Test func timesOut() async throws {
///         try await withManualTime { time in
///             let start = time.now
///             await #expect(throws: TimedOut.self) {
///                 try await withTimeout(.seconds(5)) { try await Task.sleep(for: .seconds(3600), clock: .monotonic) }
///             }
///             #expect(start.duration(to: .now) == .seconds(5))
///         }
///     }
///
/// Throws what `body` throws, or `TestTimeFailure`: for a deadlock, in which the body waits and nothing is pending that time
/// could move to; for what is left at its return; if time stands still. It says who sleeps. Cancelling the task cancels the
/// body.
///
/// Virtual time does not see `Task.sleep` and the clocks of others, the network, descriptors, and threads and queues that the
/// body starts by itself. See `TestTime.hold(_:fileID:line:)` and `TestTime.enter(_:)`.
public func withManualTime<Success: Sendable>(
    _ options: TestTimeOptions = TestTimeOptions(),
    _ body: @escaping @isolated(any) @Sendable (TestTime) async throws -> Success
) async throws -> Success {
    let body = Body(function: body)
    let time = TestTime(options, servesMainActor: options.usesMainActor || body.isOnMainActor)
    return try await TestRun<Success>(time).run(body.function, options)
}

/// Runs `body` in virtual time, with the order of tasks that follows from a seed.
public func withManualTime<Success: Sendable>(
    seed: UInt64,
    _ body: @escaping @isolated(any) @Sendable (TestTime) async throws -> Success
) async throws -> Success {
    try await withManualTime(TestTimeOptions(seed: seed), body)
}

/// A struct, since the compiler of Swift 6.3 crashes if a parameter of this type is asked for its actor.
private struct Body<Success: Sendable>: Sendable {
    let function: @isolated(any) @Sendable (TestTime) async throws -> Success

    var isOnMainActor: Bool { function.isolation === MainActor.shared }
}

/// One call of a body in virtual time.
private final class TestRun<Success: Sendable>: Sendable {
    private let time: TestTime
    private let outcome = Locked<Result<Success, any Error>?>(nil)
    private let caller = Locked<CheckedContinuation<Void, any Error>?>(nil)

    init(_ time: TestTime) {
        self.time = time
    }

    func run(
        _ body: @escaping @isolated(any) @Sendable (TestTime) async throws -> Success,
        _ options: TestTimeOptions
    ) async throws -> Success {
        let task = Task(executorPreference: time.scheduler) { [self] in
            let result: Result<Success, any Error>
            do {
                result = .success(
                    try await CurrentTime.$ofTask.withValue(time.manual) { [time] in try await body(time) }
                )
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
            time.scheduler.endBody()
        }
        time.scheduler.setBody { task.cancel() }
        try await withTaskCancellationHandler {
            try await conduct(options)
        } onCancel: {
            task.cancel()
        }
        return try result()
    }

    /// Runs the test on a thread of its own, and returns when all is over.
    private func conduct(_ options: TestTimeOptions) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            caller.withLock { $0 = continuation }
            do throws(TimerError) {
                let watchdog = try Watchdog(
                    time.scheduler,
                    relieve: { [time] steps in time.scheduler.relieve(steps, time.manual) },
                    giveUp: { [self] in
                        time.scheduler.giveUp(time.manual)
                        resumeCaller()
                    }
                )
                let thread = try startThread { [self] in
                    time.scheduler.run(time.manual, toleratesLeftovers: options.toleratesLeftovers)
                    watchdog.cancel()
                    resumeCaller()
                }
                pthread_detach(thread)
            } catch {
                time.scheduler.abandon()
                resumeCaller(throwing: error)
            }
        }
    }

    /// Resumes the caller, once: the test's thread may come to its end after it was given up.
    private func resumeCaller(throwing error: TimerError? = nil) {
        let caller = caller.withLock { $0.take() }
        if let error { caller?.resume(throwing: error) } else { caller?.resume() }
    }

    private func result() throws -> Success {
        let outcome = outcome.withLock { $0 }
        if let failure = time.scheduler.state.withLock(\.failure) {
            // The body's own error says more than what the body left.
            if failure.reason == .leftovers, case .failure(let error) = outcome { throw error }
            throw failure
        }
        // Without a failure the body has ended.
        return try outcome!.get()
    }
}
#endif

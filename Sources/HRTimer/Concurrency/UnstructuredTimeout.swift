#if os(Linux)
#if compiler(>=6.2)
public import HRTimerCore

/// Runs an operation in a task of its own, and returns once `timeout` has passed even if the operation does not: it is
/// cancelled and left behind.
///
///     let page = try await withUnstructuredTimeout(.milliseconds(50)) {
///         try await legacyFetch(url)              // heeds no cancellation
///     } late: { result in
///         log("came too late: \(result)")
///     }
///
/// Not structured, unlike `withTimeout`, which waits for its operation however long that takes. Use it where a caller must have
/// its answer in time, and what the operation does afterwards harms nobody:
///
/// * In time the operation's result or error is returned or thrown. At the deadline `TimedOut` is thrown, with a
///   `CancellationError` under it, and the operation is cancelled: its cancellation handlers run on a thread for them alone,
///   also while its thread is blocked. It goes on for as long as it likes, and keeps what it captured.
/// * What it returns or throws after that goes to `late`, once, in the operation's task. Nothing is lost.
/// * Cancelling the calling task is the same with a `CancellationError`: the call returns at once.
/// * The operation is Sendable and escapes, and runs in the pool, also if the caller is on an actor; one that is written
///   `{ @MainActor in … }` runs there. It inherits the caller's priority and task-local values, and none of its deadlines: only
///   this one cancels it.
/// * A timeout of zero or less, or NaN, throws and does not begin. If the engine of the clock has ended, the time is over.
///
/// The deadline needs no thread of the pool. The caller may, to go on: one on a `TimerExecutor` does not, and returns in time
/// though operations block all of the pool.
///
/// - Parameters:
///   - timeout: how long to wait, counted from now.
///   - tolerance: how much longer that may be for a wake-up to be shared, as with `MonotonicClock.sleep(until:tolerance:)`.
///   - clock: whose engine has the timer, and whose time counts.
///   - isolation: the caller's actor, which the call stays on; leave it out.
///   - operation: what to run.
///   - late: gets what the operation gives when nobody waits for it any more.
public func withUnstructuredTimeout<Return: Sendable>(
    _ timeout: some TimeSpan,
    tolerance: Duration? = nil,
    clock: MonotonicClock = MonotonicClock(),
    isolation: isolated (any Actor)? = #isolation,
    operation: @escaping @isolated(any) @Sendable () async throws -> Return,
    late: @escaping @Sendable (Result<Return, any Error>) -> Void = { _ in }
) async throws -> Return {
    try Task.checkCancellation()
    let timeout = timeout.asDuration ?? .zero
    if timeout <= .zero { throw TimedOut(timeout: timeout, underlying: CancellationError()) }
    let plan = clock.plan(clock.now.advanced(by: timeout), tolerance)
    let call = AbandonedCall<Return>(KeptTime(clock.host, plan), late)
    let result = await call.run(operation)
    withExtendedLifetime(clock) {}
    return try result(timeout)
}

/// One call of `withUnstructuredTimeout`, which the first of three ends: the operation, the deadline and the cancellation of
/// the caller.
private final class AbandonedCall<Return: Sendable>: HostAlarm, Expiring, @unchecked Sendable {
    // Sendable: what changes is behind the lock.

    private enum Outcome: Sendable {
        case result(Result<Return, any Error>)
        case timedOut
        case cancelled
    }

    private struct State: Sendable {
        var outcome: Outcome?
        var caller: UnsafeContinuation<Void, Never>?
        var task: Task<Void, Never>?
    }

    private let state = Locked(State())
    private let time: KeptTime
    private let late: @Sendable (Result<Return, any Error>) -> Void

    init(_ time: KeptTime, _ late: @escaping @Sendable (Result<Return, any Error>) -> Void) {
        self.time = time
        self.late = late
        super.init()
    }

    func run(
        _ operation: @escaping @isolated(any) @Sendable () async throws -> Return,
        isolation: isolated (any Actor)? = #isolation
    ) async -> (Duration) throws -> Return {
        let task = Task {
            do {
                self.end(.result(.success(try await operation())))
            } catch {
                self.end(.result(.failure(error)))
            }
        }
        state.withLock { $0.task = task }
        // Before the task may block a thread; it may have ended by now.
        let alarm = time.request.map { arm($0, on: time.host) }
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                // Unsafe: who takes it out of the state resumes it, once.
                let isOver = state.withLock { state in
                    if state.outcome == nil { state.caller = continuation }
                    return state.outcome != nil
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            if end(.cancelled) { task.cancel() }
        }
        if let alarm { time.host.disarm(alarm) }
        let outcome = state.withLock { $0.outcome }
        return { timeout in
            switch outcome {
            case .result(let result): try result.get()
            case .cancelled: throw CancellationError()
            case .timedOut, nil: throw TimedOut(timeout: timeout, underlying: CancellationError())
            }
        }
    }

    /// True if that is what ended it. A result that comes later goes to `late`.
    @discardableResult
    private func end(_ outcome: Outcome) -> Bool {
        let (isFirst, caller) = state.withLock { state -> (Bool, UnsafeContinuation<Void, Never>?) in
            if state.outcome != nil { return (false, nil) }
            state.outcome = outcome
            return (true, state.caller.take())
        }
        caller?.resume()
        if !isFirst, case .result(let result) = outcome { late(result) }
        return isFirst
    }

    override func deadlineHasCome() {
        // The caller goes on before the handlers of the operation's cancellation run.
        guard end(.timedOut) else { return }
        time.host.time.apart({ CancellationThreads.shared.expire(self) }, orHere: expire)
    }

    /// Without its timer the time is over.
    override func hostHasEnded() { deadlineHasCome() }

    func expire() { state.withLock { $0.task }?.cancel() }
}
#endif
#endif

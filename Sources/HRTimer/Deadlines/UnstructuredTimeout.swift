// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// Runs an operation in a task of its own, and returns once `timeout` has passed even if the operation has not ended.
///
/// Then the operation is cancelled and left behind.
///
///     let page = try await withUnstructuredTimeout(.milliseconds(50)) {
///         try await legacyFetch(url)              // heeds no cancellation
///     } late: { result in
///         log("came too late: \(result)")
///     }
///
/// The call is not structured, unlike `withTimeout`, which waits for its operation however long that takes. Use it where a
/// caller must have its answer in time, and the operation harms nobody afterwards:
///
/// * If the operation ends in time, its result or error is returned or thrown. At the deadline the call throws `TimedOut`,
///   with a `CancellationError` under it, and the operation is cancelled: its cancellation handlers run on a thread for them
///   alone, also while its thread is blocked. The operation goes on for as long as it likes, and keeps what it captured.
/// * A later result or error goes to `late`, once, in the operation's task. Nothing is lost.
/// * If the calling task is cancelled, the same happens with a `CancellationError`: the call returns at once.
/// * The operation is Sendable and escapes. It runs in the pool, even if the caller is on an actor; an operation that is
///   written `{ @MainActor in … }` runs on that actor. It inherits the caller's priority and task-local values, and none of
///   its deadlines: only this one cancels it.
/// * With a timeout of zero or less, or NaN, the call throws and the operation does not begin. If the engine of the clock
///   has ended, the time counts as over.
///
/// The deadline needs no thread of the pool. The caller may need one to go on. A caller on a `TimerExecutor` does not, and
/// returns in time even if operations block the whole pool.
///
/// - Parameters:
///   - timeout: how long to wait, counted from now.
///   - tolerance: how much longer the wait may be to share a wake-up, as with `MonotonicClock.sleep(until:tolerance:)`.
///   - clock: the clock that measures the time, and whose engine has the timer.
///   - isolation: the caller's actor, which the call stays on; leave it out.
///   - operation: the operation to run.
///   - late: gets the operation's result or error when nobody waits for it any more.
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

/// One call of `withUnstructuredTimeout`. The first of three events ends it: the end of the operation, the deadline, and the
/// cancellation of the caller.
private final class AbandonedCall<Return: Sendable>: HostAlarm, Expiring {
    private enum Outcome: Sendable {
        case result(Result<Return, any Error>)
        case timedOut
        case cancelled
    }

    // Safe: who takes the continuation out resumes it, once.
    @safe private struct State: Sendable {
        var outcome: Outcome?
        @safe var caller: UnsafeContinuation<Void, Never>?
        var task: Task<Void, Never>?
    }

    private let state = Locked(State())
    private let time: KeptTime
    private let late: @Sendable (Result<Return, any Error>) -> Void

    init(_ time: KeptTime, _ late: @escaping @Sendable (Result<Return, any Error>) -> Void) {
        self.time = time
        self.late = late
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
        // Armed before the task may block a thread. The task may have ended by now.
        let alarm = time.request.map { time.host.arm(self, $0) }
        await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { continuation in
                // Safe: the thread that takes it out of the state resumes it, once.
                let isOver = state.withLock { state in
                    if state.outcome == nil { state.caller = unsafe continuation }
                    return state.outcome != nil
                }
                if isOver { unsafe continuation.resume() }
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

    /// Ends the call. Returns true if this outcome ended it. A result that comes later goes to `late`.
    @discardableResult
    private func end(_ outcome: Outcome) -> Bool {
        let (isFirst, caller) = unsafe state.withLock { state -> (Bool, UnsafeContinuation<Void, Never>?) in
            if state.outcome != nil { return (false, nil) }
            state.outcome = outcome
            return unsafe (true, state.caller.take())
        }
        unsafe caller?.resume()
        if !isFirst, case .result(let result) = outcome { late(result) }
        return isFirst
    }

    func deadlineHasCome() {
        // The caller goes on before the operation's cancellation handlers run.
        guard end(.timedOut) else { return }
        time.host.time.apart({ CancellationThreads.shared.expire(self) }, orHere: expire)
    }

    /// Without its timer the call has timed out.
    func coreHasEnded() { deadlineHasCome() }

    func expire() { state.withLock { $0.task }?.cancel() }
}
#endif

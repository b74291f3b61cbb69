// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// As `Task.sleep` uses such an executor: a cancellation ends the operation, at once or soon.
public func sleep(until instant: ContinuousClock.Instant, on executor: some ContinuousClockExecutor)
    async throws(CancellationError)
{
    try await operate(executor) { executor.enqueue($0, at: instant, tolerance: nil) }
}

/// The same on the suspending clock.
public func sleep(until instant: SuspendingClock.Instant, on executor: some SuspendingClockExecutor)
    async throws(CancellationError)
{
    try await operate(executor) { executor.enqueue($0, at: instant, tolerance: nil) }
}

private func operate(
    _ executor: some OperationExecutor,
    _ enqueue: (consuming ExecutorContinuation<Void, CancellationError>) -> OperationExecutorRegistration
) async throws(CancellationError) {
    let state = Operation()
    let result: Result<Void, CancellationError> = await withTaskCancellationHandler {
        do throws(CancellationError) {
            try await withExecutorContinuation {
                (continuation: consuming ExecutorContinuation<Void, CancellationError>) in
                let registration = enqueue(continuation)
                if state.begin(registration) { executor.cancel(registration) }
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    } onCancel: {
        if let registration = state.cancel() { executor.cancel(registration) }
    }
    try result.get()
}

/// An operation that may be cancelled before its registration is known.
private final class Operation: Sendable {
    private let state = Mutex<(registration: OperationExecutorRegistration?, isCancelled: Bool)>((nil, false))

    /// Returns whether it has been cancelled already.
    func begin(_ registration: OperationExecutorRegistration) -> Bool {
        state.withLock { state in
            state.registration = registration
            return state.isCancelled
        }
    }

    func cancel() -> OperationExecutorRegistration? {
        state.withLock { state in
            state.isCancelled = true
            return state.registration
        }
    }
}

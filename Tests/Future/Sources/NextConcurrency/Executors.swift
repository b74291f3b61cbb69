// SPDX-License-Identifier: Apache-2.0
// The interface that may take the place of SchedulingExecutor, written anew after the declarations in swiftlang/swift#90418 (July 2026:
// OperationExecutor.swift, ContinuousClockExecutor.swift, SuspendingClockExecutor.swift, ExecutorContinuation.swift), on what Swift 6.3 has.
// With a compiler that has it this module goes, and Adapter imports _Concurrency in its place.

/// Names an operation of an executor, so that it can be cancelled.
public struct OperationExecutorRegistration: Sendable, Hashable {
    private let id: UInt64

    /// The published one has no public initializer, without which no executor outside of the standard library can make one.
    public init(id: UInt64) { self.id = id }
}

/// An executor with operations that take time.
public protocol OperationExecutor: Executor {
    func cancel(_ registration: OperationExecutorRegistration)
    func escalatePriority(of registration: OperationExecutorRegistration, to newPriority: TaskPriority)
}

/// An executor that resumes continuations and runs jobs at instants of the continuous clock.
public protocol ContinuousClockExecutor: OperationExecutor {
    func enqueue(
        _ continuation: consuming ExecutorContinuation<Void, CancellationError>,
        at instant: ContinuousClock.Instant,
        tolerance: ContinuousClock.Duration?
    ) -> OperationExecutorRegistration

    func enqueue(
        _ job: consuming ExecutorJob,
        at instant: ContinuousClock.Instant,
        tolerance: ContinuousClock.Duration?
    ) -> OperationExecutorRegistration
}

/// The same for the suspending clock.
public protocol SuspendingClockExecutor: OperationExecutor {
    func enqueue(
        _ continuation: consuming ExecutorContinuation<Void, CancellationError>,
        at instant: SuspendingClock.Instant,
        tolerance: SuspendingClock.Duration?
    ) -> OperationExecutorRegistration

    func enqueue(
        _ job: consuming ExecutorJob,
        at instant: SuspendingClock.Instant,
        tolerance: SuspendingClock.Duration?
    ) -> OperationExecutorRegistration
}

/// A suspended task, which an executor resumes exactly once. The published one resumes on the calling thread, and takes results that cannot
/// be copied.
public struct ExecutorContinuation<Success, Failure: Error>: ~Copyable, @unchecked Sendable {
    private let continuation: UnsafeContinuation<Result<Success, Failure>, Never>

    fileprivate init(_ continuation: UnsafeContinuation<Result<Success, Failure>, Never>) {
        self.continuation = continuation
    }

    deinit { reportDropped() }

    /// Ends the wait with a value.
    public consuming func resumeSynchronously(returning value: consuming sending Success) {
        resumeSynchronously(with: .success(value))
    }

    /// Ends the wait with an error.
    public consuming func resumeSynchronously(throwing error: consuming Failure) {
        resumeSynchronously(with: .failure(error))
    }

    /// Ends the wait.
    public consuming func resumeSynchronously(with result: consuming sending Result<Success, Failure>) {
        let continuation = continuation
        discard self
        continuation.resume(returning: result)
    }
}

/// Apart, since the compiler warns of a `fatalError` in the deinit.
private func reportDropped() { fatalError("an ExecutorContinuation was dropped without being resumed") }

/// Suspends the calling task until an executor, to which `body` gives the continuation, resumes it.
public nonisolated(nonsending) func withExecutorContinuation<Failure: Error>(
    _ body: (consuming ExecutorContinuation<Void, Failure>) -> Void
) async throws(Failure) {
    let result: Result<Void, Failure> = await withUnsafeContinuation { continuation in
        body(ExecutorContinuation(continuation))
    }
    try result.get()
}

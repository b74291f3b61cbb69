// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// The error of an operation that took longer than its `withTimeout` allowed, and failed when it was cancelled.
public struct TimedOut: Error, CustomStringConvertible {
    /// The time that the operation was given.
    public let timeout: Duration
    /// The error that the operation threw when it was cancelled, usually a `CancellationError`.
    public let underlying: any Error

    /// The error in words.
    public var description: String { "not done within \(timeout): \(underlying)" }
}

/// Runs an operation, cancels it once `timeout` has passed, and throws an error that says so.
///
///     let page = try await withTimeout(.seconds(5)) { try await fetch() }
///
/// It has the rules of `withDeadline`: it is structured, waits for the operation, and leaves nothing behind. If the
/// operation throws after its time has passed, the call throws `TimedOut` with that error; other errors are thrown as they
/// are. If the operation returns although its time has passed, its result is returned.
///
/// If an enclosing deadline on the same clock is earlier, that deadline cancels the operation, and the operation's own error
/// is thrown. A timeout of zero or less, or NaN, cancels the operation before it begins.
///
/// - Parameters:
///   - timeout: how long the operation may take, counted from now.
///   - tolerance: how much longer it may take to share a wake-up, as with `MonotonicClock.sleep(until:tolerance:)`.
///   - clock: the clock that measures the time, and whose engine has the timer.
///   - operation: the operation to run.
public nonisolated(nonsending) func withTimeout<Return: ~Copyable>(
    _ timeout: some TimeSpan,
    tolerance: Duration? = nil,
    clock: MonotonicClock = MonotonicClock(),
    operation: nonisolated(nonsending) () async throws -> Return
) async throws -> Return {
    let timeout = timeout.asDuration ?? .zero
    let deadline = clock.now.advanced(by: timeout)
    guard let scope = DeadlineScope.make(deadline, tolerance, clock) else { return try await operation() }
    do {
        return try await scope.bound(operation)
    } catch {
        throw scope.hasExpired ? TimedOut(timeout: timeout, underlying: error) : error
    }
}
#endif

#if os(Linux)
#if compiler(>=6.2)
public import HRTimerCore

/// An operation took longer than its `withTimeout` allowed, and failed when it was cancelled.
public struct TimedOut: Error, CustomStringConvertible {
    /// The time that it was given.
    public let timeout: Duration
    /// The error that the operation threw when it was cancelled, mostly a `CancellationError`.
    public let underlying: any Error

    /// In words.
    public var description: String { "not done within \(timeout): \(underlying)" }
}

/// Runs an operation, cancels it once `timeout` has passed, and throws an error that tells so.
///
///     let page = try await withTimeout(.seconds(5)) { try await fetch() }
///
/// Has the rules of `withDeadline`: structured, waits for the operation, and leaves nothing behind. If the operation
/// throws after its time has passed, it throws `TimedOut` with that error; other errors are thrown as they are. If the
/// operation returns although its time has passed, its result is returned.
///
/// Inside a deadline on the same clock that is earlier, that one cancels: then the operation's own error is thrown. A
/// timeout of zero or less, or NaN, cancels the operation before it begins.
///
/// - Parameters:
///   - timeout: how long the operation may take, counted from now.
///   - tolerance: how much longer it may take for a wake-up to be shared, as with `MonotonicClock.sleep(until:tolerance:)`.
///   - clock: whose engine has the timer, and whose time counts.
///   - operation: what to run.
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
#endif

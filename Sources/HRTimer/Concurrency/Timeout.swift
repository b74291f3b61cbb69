#if compiler(>=6.2)
public import HRTimerCore

/// An operation took longer than `withTimeout` gave it, and failed when it was cancelled.
public struct TimedOut: Error, CustomStringConvertible {
    /// The time that it had.
    public let timeout: Duration
    /// What the operation threw when it was cancelled; a `CancellationError` as a rule.
    public let underlying: any Error

    /// In words.
    public var description: String { "not done within \(timeout): \(underlying)" }
}

/// Runs an operation, cancels it once `timeout` has passed, and throws an error that says so.
///
///     let page = try await withTimeout(.seconds(5)) { try await fetch() }
///
/// As `withDeadline`, whose rules hold: structured, waits for the operation, and leaves nothing behind. Throws `TimedOut` if the operation threw after its time had passed, with what it threw; anything else that
/// it throws comes as it is. An operation that returns although its time has passed has its result returned.
///
/// Inside of a deadline of the same clock that is earlier, it is that one that cancels: the operation's own error comes then.
/// A timeout of zero, less, or NaN cancels the operation before it begins.
///
/// - Parameters:
///   - timeout: how long the operation may take, counted from now.
///   - tolerance: how much longer it may take for a wake-up to be shared, as with `MonotonicClock.sleep(until:tolerance:)`.
///   - clock: whose engine keeps the time, in whose time.
///   - operation: what is to be done.
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

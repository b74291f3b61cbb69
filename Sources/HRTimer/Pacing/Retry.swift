// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// Runs an operation again when it fails, after a wait.
///
///     let retry = Retry(.exponential(initial: .milliseconds(100), jitter: .full), attempts: 5, within: .seconds(30))
///     let page = try await retry.run { try await fetch() } decide: { error, _ in
///         (error as? HTTPError)?.isTransient == true ? .retry : .fail
///     }
///
/// `run` returns the result of the first attempt that returns. When it gives up, it throws the error of the last attempt;
/// where the total time ended it, `TimedOut` with that error.
///
/// * Waits are sleeps on `clock`, never shorter than the backoff and the decision demand. Cancelling the task ends a wait
///   with a `CancellationError`. Nothing is left behind.
/// * An attempt that fails in a cancelled task is the last one.
/// * The total time is a deadline: at its end a running attempt is cancelled, as by `withDeadline`, and waited for. A wait
///   that would not end before the deadline is not begun. An attempt that returns after the deadline counts.
/// * On virtual time a retry takes no time; with the same seeds the waits are the same.
public struct Retry: Sendable {
    /// How long to wait before each further attempt.
    public var backoff: Backoff
    /// The maximum number of attempts, including the first; less than one counts as one.
    public var attempts: Int
    /// How long all attempts and waits may take together; nil for no limit.
    public var limit: Duration?

    /// What to do about a failed attempt.
    public enum Decision: Sendable, Hashable {
        /// Try again after the backoff's wait.
        case retry
        /// Try again after the backoff's wait, but not before the given time has passed, as a server's `Retry-After`
        /// demands.
        case retryAfter(Duration)
        /// Give up and throw the error.
        case fail
    }

    /// Creates a retry without a limit in time.
    public init(_ backoff: Backoff, attempts: Int = .max) {
        self.backoff = backoff
        self.attempts = attempts
    }

    /// Creates a retry with a limit in time.
    ///
    /// A limit of zero or less, or NaN, cancels the first attempt before it begins.
    public init(_ backoff: Backoff, attempts: Int = .max, within limit: some TimeSpan) {
        self.backoff = backoff
        self.attempts = attempts
        self.limit = limit.asDuration ?? .zero
    }

    /// Runs the operation until it succeeds, must not be tried again, or has used up its attempts or its time.
    ///
    /// - Parameters:
    ///   - clock: the clock of the waits and the limit: one of this package, `ContinuousClock`, `SuspendingClock`, or any
    ///     other.
    ///   - tolerance: how much longer a wait may take to share a wake-up, as in the clock's `sleep(until:tolerance:)`.
    ///   - operation: the operation to run, where the caller runs.
    ///   - decide: decides about a failed attempt, given its error and its number; the first one's number is 1. By default
    ///     everything but a `CancellationError` is tried again. Not called for the last attempt, nor in a cancelled task.
    public nonisolated(nonsending) func run<Return, C: Clock & Identifiable>(
        clock: C = MonotonicClock(),
        tolerance: Duration? = nil,
        _ operation: nonisolated(nonsending) () async throws -> Return,
        decide: (_ error: any Error, _ attempt: Int) -> Decision = { error, _ in
            error is CancellationError ? .fail : .retry
        }
    ) async throws -> Return where C.Duration == Duration {
        guard let limit else { return try await attempt(clock, tolerance, nil, operation, decide) }
        let deadline = clock.now.advanced(by: limit)
        guard let scope = DeadlineScope.make(deadline, nil, clock) else {
            // An enclosing deadline is earlier, and cancels all of it.
            return try await attempt(clock, tolerance, deadline, operation, decide)
        }
        do {
            return try await scope.bound { try await self.attempt(clock, tolerance, deadline, operation, decide) }
        } catch let error as TimedOut {
            throw error
        } catch {
            throw scope.hasExpired ? TimedOut(timeout: limit, underlying: error) : error
        }
    }

    private nonisolated(nonsending) func attempt<Return, C: Clock>(
        _ clock: C,
        _ tolerance: Duration?,
        _ deadline: C.Instant?,
        _ operation: nonisolated(nonsending) () async throws -> Return,
        _ decide: (_ error: any Error, _ attempt: Int) -> Decision
    ) async throws -> Return where C.Duration == Duration {
        var waits = Backoff.Waits(backoff, random: TimeBase.current.randomNumber())
        var attempt = 1
        while true {
            let failure: any Error
            do {
                return try await operation()
            } catch {
                failure = error
            }
            if Task.isCancelled || attempt >= attempts { throw failure }
            var wait = Duration.nanoseconds(waits.next_ns())
            switch decide(failure, attempt) {
            case .retry: break
            case .retryAfter(let least): wait = max(wait, least)
            case .fail: throw failure
            }
            let next = clock.now.advanced(by: wait)
            if let limit, let deadline, next >= deadline { throw TimedOut(timeout: limit, underlying: failure) }
            try await clock.sleep(until: next, tolerance: tolerance)
            attempt += 1
        }
    }
}
#endif

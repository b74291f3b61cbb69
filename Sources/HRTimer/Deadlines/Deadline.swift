// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
// Swift 6.5 has all of this in its standard library.
#if !compiler(>=6.5)

/// Runs an operation, and cancels it at a deadline.
///
/// This is `withDeadline` of SE-0526, without a task that sleeps; the standard library has one from Swift 6.5 on.
///
///     let deadline = MonotonicInstant.now + .seconds(5)
///     let page = try await withDeadline(deadline, clock: .monotonic) { try await fetch() }
///
/// * The call returns or throws whatever the operation returns or throws, before the deadline or after it. At the deadline
///   the operation is cancelled, also while it is suspended, computing or blocking: `Task.isCancelled` is true inside it,
///   its cancellation handlers run on a thread for them alone, and its child tasks are cancelled. The call waits for the
///   operation, however long it takes. The calling task is not cancelled.
/// * If the deadline has already passed, the operation is cancelled before it begins, and runs nevertheless.
/// * Nested deadlines on clocks of one id act as one: the earliest counts, and a later one inside it costs nothing. On
///   clocks of different ids each deadline counts by itself.
/// * The operation runs where the caller does, and begins at once on the caller's thread. It need be neither Sendable nor
///   escaping. It may add tasks to a task group of the caller: a task added after the deadline is cancelled, but at the
///   deadline itself none of them is.
/// * With a clock of this package, with `ContinuousClock` and with `SuspendingClock` no task sleeps, and no timer or task is
///   left after the operation. With any other clock a child task sleeps on it.
/// * An engine that is shut down, or a loop that ends, cancels the operations whose deadlines it keeps.
///
/// As a rule a cancelled operation throws `CancellationError`; for an error that names the timeout use `withTimeout`.
/// Cancelling the calling task cancels the operation, as always.
///
/// ## Compared with SE-0526
///
/// | SE-0526, as it was merged for Swift 6.5 | here |
/// | --- | --- |
/// | both spellings, `clock` with its default, typed errors, results that cannot be copied | the same |
/// | `Clock & Identifiable`, `SystemClockID`, nested deadlines of one id are one | the same |
/// | `hasActiveDeadline`, `activeDeadline(for:)`, also in child tasks, and not in `Task {}` | the same |
/// | only inside an expired scope: `isCancelled`, handlers, children, those added to an outer group from then on | the same |
/// | the operation runs in the calling task | the same in the body of a task group; otherwise in a child task of the same name |
/// | a task that is cancelled inside of the operation stays cancelled | the same, if that is before the deadline |
/// | a cancellation of the calling task after the deadline, while the operation goes on, stays | the same; see below |
/// | a deadline that comes while one inside it has expired runs the handlers in between at once | the same; see below |
/// | handlers run in a task of the pool | on a thread for them alone |
/// | `CancellationError.reason`, cancelling for a reason | missing: the error has no room. `withTimeout` throws `TimedOut` |
///
/// The body of a task group is special because a task added to the group has the calling task as its parent. There only a
/// part of the calling task is cancelled. A cancellation of the calling task after the deadline, while the operation goes on,
/// takes effect when the operation returns, if it comes from a parent of the task, from a group that the task is in, or from an
/// enclosing deadline. **One by the task's own handle is lost there**, since Swift's runtime leaves no trace of it. So a task
/// that is shut down by its handle, as a server may be, leaves the group and the deadlines in it to a child task, which is
/// cancelled by its parent. If a deadline comes while one inside it has expired, the handlers in between run when the inner
/// operation returns. This relies on the layout of Swift's runtime up to 6.4. The layout is checked each time; with another
/// layout a deadline cancels the calling task for good, and a `UsageWarning` tells so.
///
/// - Parameters:
///   - expiration: when to cancel the operation. `distantFuture` means never.
///   - tolerance: how much later the cancellation may come, as with the clock's `sleep(until:tolerance:)`.
///   - clock: the clock of `expiration`. Deadlines on clocks of the same id are on the same clock.
///   - operation: the operation to run.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error, C: Clock & Identifiable>(
    _ expiration: C.Instant,
    tolerance: C.Instant.Duration? = nil,
    clock: C,
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    guard let scope = DeadlineScope.make(expiration, tolerance, clock) else { return try await operation() }
    return try await scope.bound(operation)
}

/// Runs an operation, and cancels it once `timeout` has passed on `clock`, counted from now.
///
/// See `withDeadline(_:tolerance:clock:operation:)`.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error, C: Clock & Identifiable>(
    in timeout: C.Instant.Duration,
    tolerance: C.Instant.Duration? = nil,
    clock: C,
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(clock.now.advanced(by: timeout), tolerance: tolerance, clock: clock, operation: operation)
}

/// Runs an operation, and cancels it at a deadline on `ContinuousClock`.
///
/// See `withDeadline(_:tolerance:clock:operation:)`.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error>(
    _ expiration: ContinuousClock.Instant,
    tolerance: Swift.Duration? = nil,
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(expiration, tolerance: tolerance, clock: ContinuousClock(), operation: operation)
}

/// Runs an operation, and cancels it once `timeout` has passed on `ContinuousClock`, counted from now.
///
/// See `withDeadline(_:tolerance:clock:operation:)`.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error>(
    in timeout: Swift.Duration,
    tolerance: Swift.Duration? = nil,
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(in: timeout, tolerance: tolerance, clock: ContinuousClock(), operation: operation)
}

extension Task where Success == Never, Failure == Never {
    /// Whether a `withDeadline` or `withTimeout` of this package, on any clock, cancels the calling task at its deadline: one
    /// around the calling code, or one around the task whose child the calling task is.
    ///
    /// False in a task made by `Task {}`, which no deadline cancels.
    public static var hasActiveDeadline: Bool { DeadlineScope.current != nil }

    /// Returns the earliest deadline on `clock` that cancels the calling task; nil if there is none.
    ///
    /// Deadlines on clocks of other ids do not count. See `hasActiveDeadline`.
    public static func activeDeadline<C: Clock & Identifiable>(for clock: C = ContinuousClock()) -> C.Instant? {
        DeadlineScope.nearest(clock)
    }
}
#endif
#endif

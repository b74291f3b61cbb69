#if os(Linux)
// Swift 6.5 has all of this in its standard library.
#if compiler(>=6.2) && !compiler(>=6.5)

/// Runs an operation that is cancelled at a deadline: `withDeadline` of SE-0526, which the standard library has from Swift 6.5
/// on, for Swift 6.2 and newer, and without a task that sleeps.
///
///     let deadline = MonotonicInstant.now + .seconds(5)
///     let page = try await withDeadline(deadline, clock: .monotonic) { try await fetch() }
///
/// * What the operation returns or throws is returned or thrown, before the deadline or after it. At the deadline it is
///   cancelled, also while it is suspended, computing or blocking: `Task.isCancelled` is true inside it, its
///   cancellation handlers run on a thread for them alone, and its child tasks are cancelled. The call waits for the
///   operation, however long it takes. The calling task is not cancelled.
/// * A deadline that has passed cancels before the operation begins, which runs nevertheless.
/// * Nested deadlines on clocks of one id are one: the earliest counts, and a later one inside it costs nothing. On
///   clocks of different ids each counts by itself.
/// * The operation runs where the caller does, and begins at once on the caller's thread. It need be neither Sendable
///   nor escaping. It may add tasks to a group of the caller's: those are cancelled if they are added after the
///   deadline, but not at the deadline.
/// * With a clock of this package, with `ContinuousClock` and with `SuspendingClock` no task sleeps, and after the
///   operation no timer or task is left. With any other clock a child task sleeps on it.
/// * An engine that is shut down, or a loop that ends, cancels the operations whose deadlines it has.
///
/// What is cancelled throws `CancellationError`, as a rule; for an error that names the timeout use `withTimeout`.
/// Cancelling the calling task cancels the operation as ever.
///
/// ## Beside SE-0526
///
/// | SE-0526, as it was merged for Swift 6.5 | here |
/// | --- | --- |
/// | both spellings, `clock` with its default, typed errors, results that cannot be copied | the same |
/// | `Clock & Identifiable`, `SystemClockID`, nested deadlines of one id are one | the same |
/// | `hasActiveDeadline`, `activeDeadline(for:)`, also in child tasks, and not in `Task {}` | the same |
/// | inside of an expired scope alone: `isCancelled`, handlers, children, those added to an outer group from then on | the same |
/// | the operation runs in the calling task | in the body of a task group; otherwise in a child task of the same name |
/// | a task that is cancelled inside of the operation stays cancelled | the same, if that is before the deadline |
/// | a cancellation of the calling task after the deadline, while the operation goes on | the same; but in the body of a task group the task forgets it, unless it comes from a deadline's operation around |
/// | a deadline that comes while one inside of it has expired runs the handlers in between at once | the same; in the body of a task group when the inner operation returns |
/// | handlers run in a task of the pool | on a thread for them alone |
/// | `CancellationError.reason`, and verbs that cancel for a reason | not there: the error has no room for one. `withTimeout` throws `TimedOut` |
///
/// The body of a task group is special because a task added to the group has the calling task as its parent. There only
/// a part of that task is cancelled. That relies on the layout of Swift's runtime up to 6.4, which is checked each
/// time; with another layout a deadline would cancel the calling task for good.
///
/// - Parameters:
///   - expiration: when to cancel. `distantFuture` means never.
///   - tolerance: how much later that may be, as with the clock's `sleep(until:tolerance:)`.
///   - clock: the clock of the instant. Deadlines on clocks of the same id are on the same clock.
///   - operation: what to run.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error, C: Clock & Identifiable>(
    _ expiration: C.Instant,
    tolerance: C.Instant.Duration? = nil,
    clock: C = ContinuousClock(),
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    guard let scope = DeadlineScope.make(expiration, tolerance, clock) else { return try await operation() }
    return try await scope.bound(operation)
}

/// The same once `timeout` has passed on that clock, counted from now.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error, C: Clock & Identifiable>(
    in timeout: C.Instant.Duration,
    tolerance: C.Instant.Duration? = nil,
    clock: C = ContinuousClock(),
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(clock.now.advanced(by: timeout), tolerance: tolerance, clock: clock, operation: operation)
}

extension Task where Success == Never, Failure == Never {
    /// Whether a `withDeadline` or `withTimeout` of this package, on any clock, cancels the calling task at its
    /// deadline: one around it, or one around the task whose child it is. False in a task made by `Task {}`, which no
    /// deadline cancels.
    public static var hasActiveDeadline: Bool { DeadlineScope.current != nil }

    /// The earliest deadline on that clock among those; nil if there is none. Deadlines on clocks of other ids do not
    /// count.
    public static func activeDeadline<C: Clock & Identifiable>(for clock: C = ContinuousClock()) -> C.Instant? {
        DeadlineScope.nearest(clock)
    }
}
#endif
#endif

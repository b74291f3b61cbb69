#if compiler(>=6.2)
import HRTimerCore

/// Runs an operation that is cancelled at a deadline: `withDeadline` of SE-0526, which the standard library has from Swift 6.5
/// on, for Swift 6.2 and newer, and without a task that sleeps.
///
///     let deadline = MonotonicInstant.now + .seconds(5)
///     let page = try await withDeadline(deadline, clock: .monotonic) { try await fetch() }
///
/// * What the operation returns or throws is returned or thrown, before the deadline or after it. At the deadline it is
///   cancelled: `Task.isCancelled` holds inside of it, its cancellation handlers run, on the thread of the clock's engine, and
///   its child tasks are cancelled. It is waited for however long it takes. The calling task is not cancelled.
/// * A deadline that has passed cancels before the operation begins, which runs nevertheless.
/// * Nested deadlines on clocks of one id are one: the earliest counts, and a later one inside of it costs nothing. On clocks
///   of different ids each counts by itself.
/// * The operation runs where the caller does, in a child task that starts at once on the caller's thread. It need be neither
///   Sendable nor escaping. One that does not suspend arms no timer.
/// * With a clock of this package, with `ContinuousClock` and with `SuspendingClock` no further task is made, and after the
///   operation nothing is left: neither a timer nor a task. With any other clock a second child task sleeps on it.
/// * An engine that is shut down, or a loop that ends, cancels the operations whose deadlines it keeps.
///
/// What is cancelled throws `CancellationError`, as a rule; for an error that tells of the time use `withTimeout`. Cancelling
/// the calling task cancels the operation as ever.
///
/// - Parameters:
///   - expiration: when to cancel. `distantFuture` means never.
///   - tolerance: how much later that may be, as with the clock's `sleep(until:tolerance:)`.
///   - clock: which clock the instant is on. Its id tells which deadlines are on the same one.
///   - operation: what is to be done.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error, C: Clock & Identifiable>(
    _ expiration: C.Instant,
    tolerance: C.Instant.Duration? = nil,
    clock: C,
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    guard let scope = DeadlineScope.make(expiration, tolerance, clock) else { return try await operation() }
    return try await scope.bound(operation)
}

/// The same once `timeout` has passed on that clock, counted from now.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error, C: Clock & Identifiable>(
    in timeout: C.Instant.Duration,
    tolerance: C.Instant.Duration? = nil,
    clock: C,
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(clock.now.advanced(by: timeout), tolerance: tolerance, clock: clock, operation: operation)
}

/// The same on the standard library's `ContinuousClock`, Linux's `CLOCK_BOOTTIME`: the clock of deadlines where none is named.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error>(
    _ expiration: ContinuousClock.Instant,
    tolerance: Duration? = nil,
    clock: ContinuousClock = ContinuousClock(),
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(expiration, tolerance: tolerance, clock: SystemClock(clock), operation: operation)
}

/// The same on `ContinuousClock` once `timeout` has passed, counted from now.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error>(
    in timeout: Duration,
    tolerance: Duration? = nil,
    clock: ContinuousClock = ContinuousClock(),
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(clock.now.advanced(by: timeout), tolerance: tolerance, clock: clock, operation: operation)
}

/// The same on the standard library's `SuspendingClock`, Linux's `CLOCK_MONOTONIC`.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error>(
    _ expiration: SuspendingClock.Instant,
    tolerance: Duration? = nil,
    clock: SuspendingClock,
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(expiration, tolerance: tolerance, clock: SystemClock(clock), operation: operation)
}

/// The same on `SuspendingClock` once `timeout` has passed, counted from now.
public nonisolated(nonsending) func withDeadline<Return: ~Copyable, Failure: Error>(
    in timeout: Duration,
    tolerance: Duration? = nil,
    clock: SuspendingClock,
    operation: nonisolated(nonsending) () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await withDeadline(clock.now.advanced(by: timeout), tolerance: tolerance, clock: clock, operation: operation)
}

extension Task where Success == Never, Failure == Never {
    /// Whether the calling task is inside of a `withDeadline` or `withTimeout` of this package, on whichever clock.
    ///
    /// Also in a task made there by `Task {}`, as long as the operation goes on that made it, though nobody cancels it.
    public static var hasActiveDeadline: Bool { DeadlineScope.isAnyActive }

    /// The earliest deadline on that clock among those that the calling task is inside of; nil if there is none. Deadlines on
    /// clocks of other ids do not count.
    public static func activeDeadline<C: Clock & Identifiable>(for clock: C) -> C.Instant? {
        DeadlineScope.nearest(clock)?.deadline
    }

    /// The same for the standard library's clock.
    public static func activeDeadline(for clock: ContinuousClock) -> ContinuousClock.Instant? {
        activeDeadline(for: SystemClock(clock))
    }

    /// The same for the standard library's clock.
    public static func activeDeadline(for clock: SuspendingClock) -> SuspendingClock.Instant? {
        activeDeadline(for: SystemClock(clock))
    }
}

/// One of the standard library's clocks, which are `Identifiable` from Swift 6.5 on.
private struct SystemClock<Base: Clock>: Clock, Identifiable where Base.Duration == Swift.Duration {
    typealias Instant = Base.Instant

    private let base: Base

    init(_ base: Base) {
        self.base = base
    }

    /// All of one type are the same clock.
    var id: ObjectIdentifier { ObjectIdentifier(Base.self) }
    var now: Instant { base.now }
    var minimumResolution: Base.Duration { base.minimumResolution }

    func sleep(until deadline: Instant, tolerance: Base.Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}

extension SystemClock: EngineTimedClock {
    var host: TimerHost {
        // As Task.sleep has it: on Linux the continuous clock is CLOCK_BOOTTIME, the suspending one CLOCK_MONOTONIC.
        Base.self == ContinuousClock.self ? .engine(BootTimeTimerEngine.shared.core) : MonotonicClock().host
    }

    /// The instants of both are opaque. The base is read first: what time passes between makes the deadline later, not earlier.
    func wish(_ deadline: Any, _ tolerance: Any?) -> Sleeper.Wish? {
        guard let deadline = deadline as? Instant else { return nil }
        let rest = base.now.duration(to: deadline)
        let now_ns = host.time.now_ns
        return Sleeper.Wish(
            until: now_ns.addingSaturating(rest.nanosecondsRoundedUp),
            tolerance: tolerance as? Swift.Duration
        )
    }
}
#endif

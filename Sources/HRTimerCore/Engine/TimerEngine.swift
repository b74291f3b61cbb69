// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// An engine on the monotonic clock: a thread that fires timers.
///
/// `BootTimeTimerEngine` and `WallTimerEngine` are for the other two clocks; all three are a `ClockTimerEngine`.
///
///     let token = TimerEngine.shared.schedule(after: 30) { _ in close(connection) }
public typealias TimerEngine = ClockTimerEngine<MonotonicInstant>

extension ClockTimerEngine<MonotonicInstant> {
    /// Calls `handler` at a point in time of any type, for example a `Date`, which is converted now; and then at every
    /// `interval` after it if one is given.
    ///
    /// A point of NaN means now.
    @_disfavoredOverload
    @discardableResult
    public func schedule(
        at point: some TimePoint,
        every interval: (some TimeSpan)? = Duration?.none,
        tolerance: some TimeSpan = Duration.zero,
        precision: TimerPrecision? = nil,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        handler: @escaping @Sendable (TimerFire) -> Void
    ) -> TimerToken {
        schedule(
            at: point.instant(on: core.time) ?? .distantPast,
            every: interval.map { $0.asDuration ?? .zero },
            tolerance: tolerance.asDuration ?? .zero,
            precision: precision,
            policy: policy,
            jitter: jitter,
            phase: phase,
            handler: handler
        )
    }
}

// The shared engines: of the process, or of a virtual time.

extension ClockTimerEngine<MonotonicInstant> {
    /// The engine for code that needs none of its own.
    ///
    /// It is started at first use and never shut down; in a child of `fork(2)` a new one is started. Inside `withManualTime` it
    /// is an engine of that time, which ends with the time.
    ///
    /// Its precision is `.coalesced`: timers with a tolerance or a leeway share wake-ups; timers without are as exact as in
    /// `.normal`.
    ///
    /// The whole process uses it. A handler that takes long delays all timers and sleeps that have no engine of their own, and
    /// debug builds warn of it (`UsageWarning`). A timer that cannot keep up delays each of the others by one of its calls.
    ///
    /// Traps, at first use, if the process can have no more threads (EAGAIN, pthread_create(3)): this property cannot
    /// throw. A program that must go on without timers makes an engine of its own, whose initializer throws.
    /// `MonotonicClock()` and the like use the shared engine.
    public static var shared: TimerEngine { sharedMonotonic.engine }

    /// Returns the shared engine for requests of that precision: one that spins for `.precise`, `shared` for all others.
    package static func shared(_ precision: TimerPrecision) -> TimerEngine {
        precision == .precise ? sharedPrecise.engine : shared
    }
}

extension ClockTimerEngine<BootTimeInstant> {
    /// The engine for code that needs none of its own; see `TimerEngine.shared`.
    ///
    /// Its precision is `.normal`.
    public static var shared: BootTimeTimerEngine { sharedBootTime.engine }
}

extension ClockTimerEngine<WallInstant> {
    /// The engine for code that needs none of its own; see `TimerEngine.shared`.
    ///
    /// Its precision is `.normal`.
    public static var shared: WallTimerEngine { sharedWall.engine }
}

extension AnyTimerEngine {
    /// Returns the shared engine on the clock of `time`: the process's, or that of its virtual time.
    package static func shared(on time: TimeBase) -> AnyTimerEngine {
        switch time.clock {
        case .monotonic: sharedMonotonic.engine(in: time)
        case .bootTime: sharedBootTime.engine(in: time)
        case .wall: sharedWall.engine(in: time)
        }
    }
}

private let sharedMonotonic = SharedEngine { try TimerEngine(.shared(.init(precision: $0.sharedPrecision, time: $0))) }
private let sharedPrecise = SharedEngine {
    try TimerEngine(.shared(.init(name: "hrtimer-precise", precision: .precise, time: $0)))
}
private let sharedBootTime = SharedEngine { try BootTimeTimerEngine(.shared(.init(name: "hrtimer-boot", time: $0))) }
private let sharedWall = SharedEngine { try WallTimerEngine(.shared(.init(name: "hrtimer-wall", time: $0))) }
#endif

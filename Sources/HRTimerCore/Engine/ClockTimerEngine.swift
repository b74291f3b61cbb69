#if os(Linux)
/// A `TimerEngine` whose deadlines are on another clock: `BootTimeTimerEngine` or `WallTimerEngine`.
///
///     let engine = try WallTimerEngine()
///     engine.schedule(at: WallInstant(nanoseconds: midnight_ns), every: .seconds(86_400)) { fire in … }
///
/// The clock is part of the type and not of the configuration: an instant of another clock does not compile. All else is as
/// in `TimerEngine`. A timer never fires early on the engine's own clock:
///
/// * When the wall clock is set forward, timers whose deadlines the step passes fire at once, a repeating timer by its
///   `MissedTickPolicy`. When it is set back, pending timers fire when the clock comes to their deadlines again. Lateness
///   counts on the wall clock too, so it includes a step forward.
/// * Both clocks go on while the system is suspended. Timers that fall due meanwhile fire when the system is up again; they
///   do not wake it, unless `RealTimeSettings.wakesSystem` is set (which takes CAP_WAKE_ALARM, `timerfd_create(2)`).
public final class ClockTimerEngine<Instant: TimerInstant>: AnyTimerEngine, @unchecked Sendable {
    // Sendable: as its superclass; it has no properties of its own.

    /// One fire, with instants of the engine's own clock.
    public struct Fire: Sendable {
        /// The timer that fired.
        public let token: TimerToken
        /// The nominal deadline, as requested.
        public let deadline: Instant
        /// The clock's reading right before the call; not earlier than `deadline`.
        public let firedAt: Instant
        /// How many nominal deadlines since the previous call had no call of their own; see `MissedTickPolicy`.
        public let missedTicks: Int
        /// How late the fire was: `firedAt` minus `deadline`, never negative.
        public var lateness: Duration { deadline.duration(to: firedAt) }
    }

    /// Starts an engine. Throws if the system has no descriptor or no thread for it (EMFILE, EAGAIN), and ENOTSUP for
    /// `.futex` on the boot-time clock.
    ///
    /// In a fire that is reported to the `latenessWatch`, `lateness` and the numbers of the instants are on this engine's clock.
    public init(_ configuration: TimerEngine.Configuration) throws(TimerError) {
        var configuration = configuration
        configuration.clock = Instant.clock
        super.init(try EngineCore(started: configuration))
    }

    /// Starts an engine with the settings that are used most often; all others are as in `TimerEngine.Configuration()`.
    public convenience init(
        name: String = "hrtimer",
        precision: TimerPrecision = .normal,
        realTime: RealTimeSettings = .init(),
        time: TimeBase = .current
    ) throws(TimerError) {
        try self.init(.init(name: name, precision: precision, realTime: realTime, time: time))
    }

    /// The present reading of the engine's clock.
    public var now: Instant { Instant(nanoseconds: core.time.now_ns) }

    /// Calls `handler` at `deadline`, and then at every `interval` after it if one is given; see
    /// `TimerEngine.schedule(at:every:tolerance:precision:policy:jitter:phase:handler:)`.
    @discardableResult
    public func schedule(
        at deadline: Instant,
        every interval: Duration? = nil,
        tolerance: Duration = .zero,
        precision: TimerPrecision? = nil,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        handler: @escaping @Sendable (Fire) -> Void
    ) -> TimerToken {
        schedule(
            ExactInstant(deadline.nanoseconds),
            Recurrence(every: interval, policy: policy),
            tolerance.nanosecondsRoundedUp,
            precision,
            jitter,
            phase,
            handler
        )
    }

    private func schedule(
        _ deadline: ExactInstant,
        _ repetition: Recurrence,
        _ tolerance_ns: Int64,
        _ precision: TimerPrecision?,
        _ jitter: Jitter?,
        _ phase: TimerPhase,
        _ handler: @escaping @Sendable (Fire) -> Void
    ) -> TimerToken {
        var request = TimerRequest()
        request.set(deadline.rounded_ns, repetition, jitter, phase, random: core.time.randomNumber())
        request.roundedUp_as = deadline.roundedUp_as
        request.tolerance_ns = tolerance_ns
        request.precision = precision
        return core.schedule(.handler { handler(Fire($0)) }, request)
    }

    /// Calls `handler` once `delay` has passed on the engine's clock, counted from now; see
    /// `TimerEngine.schedule(after:every:tolerance:precision:policy:jitter:phase:handler:)`. A step of the wall clock
    /// changes what is left of the delay.
    @discardableResult
    public func schedule(
        after delay: some TimeSpan,
        every interval: Duration? = nil,
        tolerance: some TimeSpan = Duration.zero,
        precision: TimerPrecision? = nil,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        handler: @escaping @Sendable (Fire) -> Void
    ) -> TimerToken {
        schedule(
            core.deadline(after: delay),
            Recurrence(every: interval, policy: policy),
            tolerance.nanosecondsOrZero,
            precision,
            jitter,
            phase,
            handler
        )
    }

    /// Calls `handler` once `delay` has passed, with an interval of another type than `Duration`; NaN counts as 0.1 ms.
    @_disfavoredOverload
    @discardableResult
    public func schedule(
        after delay: some TimeSpan,
        every interval: some TimeSpan,
        tolerance: some TimeSpan = Duration.zero,
        precision: TimerPrecision? = nil,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        handler: @escaping @Sendable (Fire) -> Void
    ) -> TimerToken {
        schedule(
            after: delay,
            every: interval.asDuration ?? .zero,
            tolerance: tolerance,
            precision: precision,
            policy: policy,
            jitter: jitter,
            phase: phase,
            handler: handler
        )
    }

    /// Returns the deadline of the timer's next call; see `TimerEngine.deadline(of:)`.
    public func deadline(of token: TimerToken) -> Instant? {
        core.deadline_ns(of: token).map(Instant.init(nanoseconds:))
    }

    /// Moves a timer to another deadline; its interval stays. Returns false if the token is stale.
    @discardableResult
    public func reschedule(_ token: TimerToken, at deadline: Instant) -> Bool {
        core.arm(token, deadline_ns: deadline.nanoseconds)
    }

    /// Moves a timer to another deadline and gives it another interval, nil for none: it begins a new grid at `deadline`.
    @discardableResult
    public func reschedule(_ token: TimerToken, at deadline: Instant, every interval: Duration?) -> Bool {
        core.arm(token, deadline_ns: deadline.nanoseconds, interval: .new(interval))
    }

    /// Moves a timer to `delay` from now on the engine's clock; its interval stays. Returns false if the token is stale.
    @discardableResult
    public func reschedule(_ token: TimerToken, after delay: some TimeSpan) -> Bool {
        core.arm(token, after: delay)
    }
}

extension ClockTimerEngine.Fire {
    /// Creates a fire from the engine's own account, whose numbers are on the engine's clock.
    package init(_ fire: TimerFire) {
        token = fire.token
        deadline = Instant(nanoseconds: fire.deadline.nanoseconds)
        firedAt = Instant(nanoseconds: fire.firedAt.nanoseconds)
        missedTicks = fire.missedTicks
    }
}

/// An engine on the clock that goes on while the system is suspended.
public typealias BootTimeTimerEngine = ClockTimerEngine<BootTimeInstant>

/// An engine on the time of day, which follows steps of that clock.
public typealias WallTimerEngine = ClockTimerEngine<WallInstant>

private let sharedBootTime = SharedEngine { try BootTimeTimerEngine(.shared(.init(name: "hrtimer-boot", time: $0))) }
private let sharedWall = SharedEngine { try WallTimerEngine(.shared(.init(name: "hrtimer-wall", time: $0))) }

extension ClockTimerEngine<BootTimeInstant> {
    /// The engine for code that needs none of its own; see `TimerEngine.shared`.
    public static var shared: BootTimeTimerEngine { sharedBootTime.engine }

    static func shared(in time: TimeBase) -> BootTimeTimerEngine { sharedBootTime.engine(in: time) }
}

extension ClockTimerEngine<WallInstant> {
    /// The engine for code that needs none of its own; see `TimerEngine.shared`.
    public static var shared: WallTimerEngine { sharedWall.engine }

    static func shared(in time: TimeBase) -> WallTimerEngine { sharedWall.engine(in: time) }
}
#endif

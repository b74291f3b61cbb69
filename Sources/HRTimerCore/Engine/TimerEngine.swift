#if os(Linux)
/// A thread that fires timers: it keeps a queue of deadlines, sleeps until the next one, and calls handlers in order.
///
/// A timer never fires early on `CLOCK_MONOTONIC`; `BootTimeTimerEngine` and `WallTimerEngine` are for the other two
/// clocks. It is late by the kernel's wake latency, with the thread's timer slack at 1 ns. With nothing pending the thread
/// sleeps without any wake-up. All members may be called from any thread, and from handlers.
///
/// Handlers run on the engine's thread, one after another in the order of (deadline, sequence of arming). A handler that takes
/// long delays the other timers of its engine, and of no other engine; give long work to a queue, or to an engine of its own.
///
/// Timers that were armed before the engine looks at its queue fire in exactly that order, however many are due. A timer
/// that a handler arms takes its place in that order too, unless its deadline is an instant that the engine has passed
/// already: it then fires after all timers that were due, so that nothing starves.
///
/// The engine ends with `shutdown()`, or when its last reference is released. Pending timers are then forgotten and their
/// handlers freed, and the thread has ended when the call returns (unless it came from a handler). In a child of `fork(2)`
/// the engine has ended: only the parent has its thread.
public final class TimerEngine: AnyTimerEngine, @unchecked Sendable {
    // Sendable: as its superclass; it has no properties of its own.

    /// The configuration from which an engine is made.
    public struct Configuration: Sendable {
        /// Name of the thread, for debuggers and `top -H`; at most 15 bytes are kept.
        public var name: String
        /// How the thread waits. The default is the futex; on the boot-time clock, which futex(2) does not support, it is
        /// the timerfd.
        public var parkStrategy: ParkStrategy {
            get { chosenWay ?? (clock == .bootTime ? .timerfd : .futex) }
            set { chosenWay = newValue }
        }
        private var chosenWay: ParkStrategy?
        /// How exact the engine's timers are, unless a timer requests more.
        public var precision: TimerPrecision
        /// The processor time that may be spent on spinning up to precise deadlines, as a share of one core: 0 ... 1,
        /// clamped; NaN counts as 0. The share is kept over every second within 10 %. After a sleep, a fire may be expected
        /// to spin at most this share of the sleep; its only other limits are `spinCoverage` and 250 µs. If the budget does
        /// not suffice, all spin windows shrink, down to those that cost nothing.
        ///
        /// Nil, the default: the engine shares 0.0125 with all engines and loops of the process that have no budget of their
        /// own. That is 12.5 µs a fire of a 1 kHz timer, if it is the only one, and at 60 Hz more than a fire can use.
        public var spinBudget: Double?
        /// The part of all wake-ups that a precise engine is to be early enough for, where the budget suffices: 0.01 ...
        /// 0.999, clamped; 0.99 by default. A wake-up beyond that part is late by as much as it exceeds the spin window.
        ///
        /// Wake-ups that are late by far more than the others are not covered, unless that is worth it: at 0.99, to cover
        /// one fire of a hundred more may cost every fire 7 µs of spinning, and at 0.999, to cover one of a thousand more
        /// may. In a real-time class 0.999 and a budget of 0.5 are worth a try; `engine.lateness` shows the effect.
        public var spinCoverage = SpinWindow.defaultCoverage
        /// The settings that the engine requests of the kernel for its thread; `TimerEngine.settingResults` has the results.
        public var realTime: RealTimeSettings
        /// The watch that is called for late fires.
        public var latenessWatch: LatenessWatch?
        /// The source of the engine's time.
        public var time: TimeBase
        /// Set by the type of the engine.
        package var clock = TimerClock.monotonic
        /// The budget that this engine has in common with others, in place of one by `spinBudget`; nil for none.
        package var commonSpinBudget: SpinBudget?
        /// Whether the engine serves the whole process, as `shared` does.
        package var isShared = false
        /// See `EngineCore.defersMoves`; nil counts as true.
        package var defersMoves: Bool?

        /// Creates a configuration. The defaults are right for an ordinary process.
        public init(
            name: String = "hrtimer",
            parkStrategy: ParkStrategy? = nil,
            precision: TimerPrecision = .normal,
            realTime: RealTimeSettings = .init(),
            time: TimeBase = .current
        ) {
            self.name = name
            chosenWay = parkStrategy
            self.precision = precision
            self.realTime = realTime
            self.time = time
        }
    }

    /// A watch that calls a handler for every fire that is late by more than a bound, because a handler before it took too
    /// long or the machine stalled. Lateness counts up to the call, from the deadline, or from the arming of the timer if
    /// that was later: a source that was suspended on purpose is not late.
    public struct LatenessWatch: Sendable {
        /// The lateness above which a fire is reported.
        public var bound: Duration
        /// Called on the engine's thread, before the late timer's own handler. For a `TimerSource` it is called right after
        /// the source's handler, or after the call was submitted to the source's queue. Called also for a tick that `.skip` leaves
        /// out, with the number of those that were left out.
        public var handler: @Sendable (TimerFire) -> Void

        /// Creates a watch for fires that are late by more than `bound`.
        public init(bound: Duration, handler: @escaping @Sendable (TimerFire) -> Void) {
            self.bound = bound
            self.handler = handler
        }
    }

    /// Starts an engine. Throws if the system has no descriptor or no thread for it (EMFILE, EAGAIN).
    ///
    /// On a virtual time base there is no thread: handlers run on the thread that moves the clock.
    public init(_ configuration: Configuration) throws(TimerError) {
        super.init(try EngineCore(started: configuration))
    }

    /// Starts an engine with the settings that are used most often; all others are as in `Configuration()`.
    public convenience init(
        name: String = "hrtimer",
        precision: TimerPrecision = .normal,
        realTime: RealTimeSettings = .init(),
        time: TimeBase = .current
    ) throws(TimerError) {
        try self.init(Configuration(name: name, precision: precision, realTime: realTime, time: time))
    }

    /// The engine for code that needs none of its own. It is started at first use and never shut down; in a child of
    /// `fork(2)` a new one is started. Inside `withManualTime` it is an engine of that time, which ends with the time.
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

    /// The present reading of the engine's clock.
    public var now: MonotonicInstant { MonotonicInstant(nanoseconds: core.time.now_ns) }

    /// Calls `handler` at `deadline`, and then at every `interval` after it if one is given.
    ///
    /// A past deadline means now; a repeating timer keeps the grid of the deadline given. An interval of zero or less
    /// counts as 0.1 ms. A timer at `distantFuture` never fires. `tolerance` is how much later the engine may call in order
    /// to share a wake-up, at most half the interval; only `.coalesced` makes use of it. A `precision` below the engine's
    /// counts as the engine's. `jitter` and `phase` are for timers that repeat: see `Jitter` and `TimerPhase`. A deadline
    /// that `reschedule` sets later has jitter, too.
    /// After `shutdown()` nothing is scheduled and the token is stale at once.
    /// The handler is freed when the timer is cancelled or has fired for the last time.
    ///
    /// Complexity: that of arming in the queue, and at most one system call, if the engine sleeps past `deadline`.
    @discardableResult
    public func schedule(
        at deadline: MonotonicInstant,
        every interval: Duration? = nil,
        tolerance: Duration = .zero,
        precision: TimerPrecision? = nil,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        handler: consuming @escaping @Sendable (TimerFire) -> Void
    ) -> TimerToken {
        var request = TimerRequest()
        let repetition = Recurrence(every: interval, policy: policy)
        request.set(deadline.nanoseconds, repetition, jitter, phase, random: core.time.randomNumber())
        request.tolerance_ns = tolerance.nanosecondsRoundedUp
        request.precision = precision
        return core.schedule(.handler(consume handler), request)
    }

    /// Calls `handler` once `delay` has passed, counted from now; see
    /// `schedule(at:every:tolerance:precision:policy:jitter:phase:handler:)`.
    ///
    /// A delay of NaN, like a negative one, means now.
    @discardableResult
    public func schedule(
        after delay: some TimeSpan,
        every interval: Duration? = nil,
        tolerance: some TimeSpan = Duration.zero,
        precision: TimerPrecision? = nil,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        handler: consuming @escaping @Sendable (TimerFire) -> Void
    ) -> TimerToken {
        var request = TimerRequest()
        let repetition = Recurrence(every: interval, policy: policy)
        let deadline = core.deadline(after: delay)
        request.set(deadline.rounded_ns, repetition, jitter, phase, random: core.time.randomNumber())
        request.roundedUp_as = deadline.roundedUp_as
        request.tolerance_ns = tolerance.nanosecondsOrZero
        request.precision = precision
        return core.schedule(.handler(consume handler), request)
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
        handler: consuming @escaping @Sendable (TimerFire) -> Void
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

    /// Calls `handler` at a point in time of any type, for example a `Date`, which is converted now; and then at every
    /// `interval` after it if one is given. A point of NaN means now.
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
        handler: consuming @escaping @Sendable (TimerFire) -> Void
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

    /// Returns the deadline of the timer's next call; inside its handler, unless that has set another, the deadline of the
    /// present call. Returns nil if the token is stale, and `distantFuture` for a timer that waits for no deadline. O(1).
    public func deadline(of token: TimerToken) -> MonotonicInstant? {
        core.deadline_ns(of: token).map(MonotonicInstant.init(nanoseconds:))
    }

    /// Moves a timer to another deadline; its interval stays. Returns false if the token is stale.
    ///
    /// While the timer's handler runs, the new deadline replaces the next one, whether the handler or another thread sets
    /// it; a one-shot timer that is re-armed so fires again. A precise call may count as begun up to 4 µs before its deadline.
    /// Ticks that no call has reported are forgotten.
    @discardableResult
    public func reschedule(_ token: TimerToken, at deadline: MonotonicInstant) -> Bool {
        core.arm(token, deadline_ns: deadline.nanoseconds)
    }

    /// Moves a timer to another deadline and gives it another interval, nil for none: it begins a new grid at `deadline`.
    /// Its policy stays; its tolerance stays as far as the new interval allows. Returns false if the token is stale.
    @discardableResult
    public func reschedule(_ token: TimerToken, at deadline: MonotonicInstant, every interval: Duration?) -> Bool {
        core.arm(token, deadline_ns: deadline.nanoseconds, interval: .new(interval))
    }

    /// Moves a timer to a point in time of any type, for example a `Date`, which is converted now; its interval stays. A
    /// point of NaN means now.
    @_disfavoredOverload
    @discardableResult
    public func reschedule(_ token: TimerToken, at point: some TimePoint) -> Bool {
        reschedule(token, at: point.instant(on: core.time) ?? .distantPast)
    }

    /// Moves a timer to a point in time of any type and gives it another interval, where NaN counts as 0.1 ms.
    @_disfavoredOverload
    @discardableResult
    public func reschedule(_ token: TimerToken, at point: some TimePoint, every interval: some TimeSpan) -> Bool {
        reschedule(token, at: point.instant(on: core.time) ?? .distantPast, every: interval.asDuration ?? .zero)
    }

    /// Moves a timer to `delay` from now, as for a timeout that is to be put off; its interval stays. Returns false if the
    /// token is stale.
    @discardableResult
    public func reschedule(_ token: TimerToken, after delay: some TimeSpan) -> Bool {
        core.arm(token, after: delay)
    }
}

extension TimerEngine {
    /// Returns the shared engine of `time`: the process's, or that of a virtual time.
    package static func shared(in time: TimeBase) -> TimerEngine { sharedMonotonic.engine(in: time) }

    /// Returns the shared engine for requests of that precision: one that spins for `.precise`, `shared` for all others.
    package static func shared(_ precision: TimerPrecision) -> TimerEngine {
        precision == .precise ? sharedPrecise.engine : shared
    }
}

private let sharedPrecise = SharedEngine {
    try TimerEngine(.shared(.init(name: "hrtimer-precise", precision: .precise, time: $0)))
}
private let sharedMonotonic = SharedEngine {
    try TimerEngine(.shared(.init(precision: $0.sharedPrecision, time: $0)))
}

extension TimerEngine.Configuration {
    /// Returns the configuration for an engine that the whole process shares.
    static func shared(_ configuration: Self) -> Self {
        var configuration = configuration
        configuration.isShared = true
        return configuration
    }
}
#endif

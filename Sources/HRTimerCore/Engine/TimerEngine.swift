#if os(Linux)
/// A thread that fires timers: it has a queue of deadlines, parks until the next one, and calls handlers in order.
///
/// Never early, on `CLOCK_MONOTONIC`; `BootTimeTimerEngine` and `WallTimerEngine` are for the other two clocks. Late by the
/// kernel's wake latency, with the thread's timer slack at 1 ns. With nothing pending the thread sleeps without any wake-up.
/// All members may be called from any thread, and from handlers.
///
/// Handlers run on the engine's thread, one after another in the order of (deadline, sequence of arming). A handler
/// that takes long delays the other timers of its engine and of no other; give long work to another queue, or an engine
/// of its own.
///
/// What was armed before the engine looks fires in exactly that order, however much is due. What a handler arms takes its place
/// in it too, unless it is for an instant that the engine has passed already: it then comes when all that was due has been
/// called, so that nothing starves.
///
/// The engine ends with `shutdown()`, or when its last reference goes: pending timers are then forgotten, their handlers
/// freed, and the thread has ended when the call returns (unless it came from a handler). In a child of `fork(2)` it has
/// ended: its thread is in the parent alone.
public final class TimerEngine: AnyTimerEngine, @unchecked Sendable {
    // Sendable: as its superclass, it has nothing of its own.

    /// What an engine is made from.
    public struct Configuration: Sendable {
        /// Name of the thread, for debuggers and `top -H`; at most 15 bytes are kept.
        public var name: String
        /// How the thread waits. By the futex unless another way is set; on the boot-time clock, which futex(2) does not know,
        /// by the timerfd.
        public var wayToWait: WayToWait {
            get { chosenWay ?? (clock == .bootTime ? .timerfd : .futex) }
            set { chosenWay = newValue }
        }
        private var chosenWay: WayToWait?
        /// How exact its timers are, unless one requests more.
        public var precision: TimerPrecision
        /// Processor time for spinning up to precise deadlines, as a share of one core: 0 ... 1, clamped, NaN counts as 0. It is
        /// kept over every second within 10 %, and nothing else limits a fire but `spinCoverage` and 250 µs: one after a sleep
        /// may expect to spin this share of it. Where that does not suffice all spin windows shrink, down to what costs nothing.
        ///
        /// Nil, the default: the engine shares 0.0125 with all engines and loops of the process that have no budget of their
        /// own. That is 12.5 µs a fire of a 1 kHz timer, if there is no other, and at 60 Hz more than there is a use for.
        public var spinBudget: Double?
        /// The part of all wake-ups that a precise engine is to be early enough for, where the budget suffices: 0.01
        /// ... 0.999, clamped; 0.99 by default. What is above it is late by what it exceeds the spin window.
        ///
        /// Wakes that are late by far more than the others are left to be so, unless that is worth it: at 0.99, to cover one
        /// fire of a hundred more may cost every fire 7 µs of spinning, and at 0.999 one of a thousand. In a real-time class
        /// 0.999 and a budget of 0.5 are worth a try; `engine.lateness` shows the effect.
        public var spinCoverage = SpinWindow.defaultCoverage
        /// What the engine requests of the kernel for its thread; `TimerEngine.settingResults` has the results.
        public var realTime: RealTimeSettings
        /// Called for late fires.
        public var latenessWatch: LatenessWatch?
        /// Where time comes from.
        public var time: TimeBase
        /// Set by the type of the engine.
        package var clock = TimerClock.monotonic
        /// It serves the whole process, as `shared` does.
        package var isShared = false
        /// Nil: it does.
        package var defersMoves: Bool?

        /// The defaults are right for an ordinary process.
        public init(
            name: String = "hrtimer",
            wayToWait: WayToWait? = nil,
            precision: TimerPrecision = .normal,
            realTime: RealTimeSettings = .init(),
            time: TimeBase = .current
        ) {
            self.name = name
            chosenWay = wayToWait
            self.precision = precision
            self.realTime = realTime
            self.time = time
        }
    }

    /// Calls a handler for every fire that is late by more than a bound: a handler before it took too long, or the machine
    /// stalled. Lateness counts up to the call, and from the deadline on, or from when the timer was armed if that was later:
    /// a source that was suspended on purpose is not late.
    public struct LatenessWatch: Sendable {
        /// Fires later than this are reported.
        public var bound: Duration
        /// Called on the engine's thread, before the late timer's own handler; for a `TimerSource` right after it, or after the
        /// call was submitted to its queue.
        public var handler: @Sendable (TimerFire) -> Void

        /// A watch for fires later than `bound`.
        public init(bound: Duration, handler: @escaping @Sendable (TimerFire) -> Void) {
            self.bound = bound
            self.handler = handler
        }
    }

    /// Starts an engine. Throws if a descriptor or a thread cannot be had (EMFILE, EAGAIN).
    ///
    /// On a virtual time base there is no thread: handlers run on the thread that moves the clock.
    public init(_ configuration: Configuration) throws(TimerError) {
        super.init(try EngineCore(started: configuration))
    }

    /// The same with what is set most often; all else is as `Configuration()` has it.
    public convenience init(
        name: String = "hrtimer",
        precision: TimerPrecision = .normal,
        realTime: RealTimeSettings = .init(),
        time: TimeBase = .current
    ) throws(TimerError) {
        try self.init(Configuration(name: name, precision: precision, realTime: realTime, time: time))
    }

    /// The engine for code that needs none of its own: started at first use, never shut down; in a child of `fork(2)` a
    /// new one is started. Inside `withManualTime` one of that time's own, which ends with it.
    ///
    /// `.coalesced`: what gives a tolerance or a leeway shares its wake-ups; what gives none is as exact as in `.normal`.
    ///
    /// The whole process uses it: a handler that takes long delays all timers and sleeps that have no engine of their
    /// own, and debug builds warn of it (`UsageWarning`); a timer that cannot keep up delays each by one of its calls.
    ///
    /// Traps, at first use, where the process can have no thread more (EAGAIN, pthread_create(3)): it cannot throw. A
    /// program that must go on without timers makes an engine of its own, which can. `MonotonicClock()` and the like
    /// use it.
    public static var shared: TimerEngine { sharedMonotonic.engine }

    /// What the engine's clock reads now.
    public var now: MonotonicInstant { MonotonicInstant(nanoseconds: core.time.now_ns) }

    /// Calls `handler` at `deadline`, and then at every `interval` after it if one is given.
    ///
    /// A past deadline means now; a repeating timer keeps the grid of the deadline given. An interval of zero or less counts
    /// as 0.1 ms. `distantFuture` never fires. `tolerance` is how much later the engine may call to share a wake-up, at most
    /// half the interval, which only `.coalesced` makes use of. A `precision` less than the engine's counts as the engine's.
    /// `jitter` and `phase` are for timers that repeat: see `Jitter` and `TimerPhase`. A deadline given later by `reschedule`
    /// has jitter too.
    /// After `shutdown()` nothing is scheduled and the token is stale at once.
    /// The handler is freed when the timer is cancelled or has fired for the last time.
    ///
    /// Complexity: that of the queue's arm, and at most one system call, if the engine sleeps past `deadline`.
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

    /// Calls `handler` once `delay` has passed, counted from now; see `schedule(at:every:tolerance:precision:policy:jitter:phase:handler:)`.
    ///
    /// A delay of NaN, as one below zero, means now.
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
        request.set(core.deadline_ns(after: delay), repetition, jitter, phase, random: core.time.randomNumber())
        request.tolerance_ns = tolerance.nanosecondsOrZero
        request.precision = precision
        return core.schedule(.handler(consume handler), request)
    }

    /// The same with the interval in another spelling than `Duration`; NaN counts as 0.1 ms.
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

    /// Calls `handler` at a point in time in any spelling, a `Date` for one, converted now; and then at every `interval` after
    /// it if one is given. One of NaN means now.
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

    /// When the timer is called next; inside its handler, unless that has set another, the deadline that it is called for. Nil
    /// if the token is stale; `distantFuture` for a timer that waits for nothing. O(1).
    public func deadline(of token: TimerToken) -> MonotonicInstant? {
        core.deadline_ns(of: token).map(MonotonicInstant.init(nanoseconds:))
    }

    /// Moves a timer to another deadline; its interval stays. False if the token is stale.
    ///
    /// While the timer's handler runs, there or in another thread, it replaces the next deadline; a one-shot timer so
    /// re-armed fires again. Ticks that no call has reported are forgotten.
    @discardableResult
    public func reschedule(_ token: TimerToken, at deadline: MonotonicInstant) -> Bool {
        core.arm(token, deadline_ns: deadline.nanoseconds)
    }

    /// The same with another interval, nil for none: the timer begins a new grid at `deadline`. Its policy stays, and of its
    /// tolerance what the new interval allows.
    @discardableResult
    public func reschedule(_ token: TimerToken, at deadline: MonotonicInstant, every interval: Duration?) -> Bool {
        core.arm(token, deadline_ns: deadline.nanoseconds, every: interval)
    }

    /// Moves a timer to a point in time in any spelling, a `Date` for one, converted now; its interval stays. One of NaN means
    /// now.
    @_disfavoredOverload
    @discardableResult
    public func reschedule(_ token: TimerToken, at point: some TimePoint) -> Bool {
        reschedule(token, at: point.instant(on: core.time) ?? .distantPast)
    }

    /// The same with another interval, of which NaN counts as 0.1 ms.
    @_disfavoredOverload
    @discardableResult
    public func reschedule(_ token: TimerToken, at point: some TimePoint, every interval: some TimeSpan) -> Bool {
        reschedule(token, at: point.instant(on: core.time) ?? .distantPast, every: interval.asDuration ?? .zero)
    }

    /// Moves a timer to `delay` from now, as a timeout is kept from coming; its interval stays. False if the token is stale.
    @discardableResult
    public func reschedule(_ token: TimerToken, after delay: some TimeSpan) -> Bool {
        core.arm(token, deadline_ns: core.deadline_ns(after: delay))
    }
}

extension TimerEngine {
    /// The engine for code that needs none of its own, and one that spins for requests of `.precise`.
    static func shared(in time: TimeBase) -> TimerEngine { sharedMonotonic.engine(in: time) }

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
    /// The same for an engine that is everybody's.
    static func shared(_ configuration: Self) -> Self {
        var configuration = configuration
        configuration.isShared = true
        return configuration
    }
}
#endif

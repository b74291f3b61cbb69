// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A thread that fires timers: it keeps a queue of deadlines, sleeps until the next one, and calls handlers in order.
///
/// Its clock is part of its type: `TimerEngine`, `BootTimeTimerEngine`, `WallTimerEngine`. An instant of another clock does not
/// compile.
///
///     let engine = try WallTimerEngine()
///     engine.schedule(at: WallInstant(nanoseconds: midnight_ns), every: .seconds(86_400)) { fire in … }
///
/// A timer never fires early on the engine's own clock. It is late by the kernel's wake latency, with the thread's timer slack
/// at 1 ns. With nothing pending the thread sleeps without any wake-up. All members may be called from any thread, and from
/// handlers.
///
/// Handlers run on the engine's thread, one after the other in the order of (deadline, sequence of arming). A handler that takes
/// long delays the other timers of its engine, and of no other engine; give long work to a queue, or to an engine of its own.
///
/// Timers that were armed before the engine looks at its queue fire in exactly that order, however many are due. A timer
/// that a handler arms takes its place in that order too, unless its deadline is an instant that the engine has passed
/// already: it then fires after all timers that were due, so that nothing starves.
///
/// The engine ends with `shutdown()`, or when its last reference is released. Pending timers are then forgotten and their
/// handlers freed, and the thread has ended when the call returns (unless it came from a handler). In a child of `fork(2)`
/// the engine has ended: only the parent has its thread.
///
/// * When the wall clock is set forward, timers whose deadlines the step passes fire at once, a repeating timer by its
///   `MissedTickPolicy`. When it is set back, pending timers fire when the clock comes to their deadlines again. Lateness
///   counts on the wall clock too, so it includes a step forward.
/// * The wall clock and boot time go on while the system is suspended. Timers that fall due meanwhile fire when the system is up
///   again; they do not wake it, unless `RealTimeSettings.wakesSystem` is set (which takes CAP_WAKE_ALARM, `timerfd_create(2)`).
public final class ClockTimerEngine<Instant: TimerInstant>: AnyTimerEngine, @unchecked Sendable {
    // Sendable: as its superclass; it has no properties of its own.

    /// Starts an engine.
    ///
    /// Throws if the system has no descriptor or no thread for it (EMFILE, EAGAIN). On a virtual time base there is no thread:
    /// handlers run on the thread that moves the clock.
    public init(_ configuration: Configuration) throws(TimerError) {
        var configuration = configuration
        configuration.clock = Instant.clock
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

    /// The present reading of the engine's clock.
    public var now: Instant { Instant(nanoseconds: core.time.now_ns) }

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
        at deadline: Instant,
        every interval: Duration? = nil,
        tolerance: Duration = .zero,
        precision: TimerPrecision? = nil,
        policy: MissedTickPolicy = .merge,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        handler: @escaping @Sendable (Fire) -> Void
    ) -> TimerToken {
        var request = TimerRequest()
        let repetition = Recurrence(every: interval, policy: policy)
        request.set(deadline.nanoseconds, repetition, jitter, phase, random: core.time.randomNumber())
        request.tolerance_ns = tolerance.nanosecondsRoundedUp
        request.precision = precision
        return core.schedule(Self.target(handler), request)
    }

    /// Calls `handler` once `delay` has passed on the engine's clock, counted from now; see
    /// `schedule(at:every:tolerance:precision:policy:jitter:phase:handler:)`.
    ///
    /// A step of the wall clock changes what is left of the delay.
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
        handler: @escaping @Sendable (Fire) -> Void
    ) -> TimerToken {
        var request = TimerRequest()
        let repetition = Recurrence(every: interval, policy: policy)
        let deadline = core.deadline(after: delay)
        request.set(deadline.rounded_ns, repetition, jitter, phase, random: core.time.randomNumber())
        request.roundedUp_as = deadline.roundedUp_as
        request.tolerance_ns = tolerance.nanosecondsOrZero
        request.precision = precision
        return core.schedule(Self.target(handler), request)
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

    /// Returns the deadline of the timer's next call; inside its handler, unless that has set another, the deadline of the
    /// present call.
    ///
    /// Returns nil if the token is stale, and `distantFuture` for a timer that waits for no deadline. O(1).
    public func deadline(of token: TimerToken) -> Instant? {
        core.deadline_ns(of: token).map(Instant.init(nanoseconds:))
    }

    /// Moves a timer to another deadline; its interval stays.
    ///
    /// Returns false if the token is stale.
    ///
    /// While the timer's handler runs, the new deadline replaces the next one, whether the handler or another thread sets
    /// it; a one-shot timer that is re-armed so fires again. A precise call may count as begun up to 4 µs before its deadline.
    /// Ticks that no call has reported are forgotten.
    @discardableResult
    public func reschedule(_ token: TimerToken, at deadline: Instant) -> Bool {
        core.arm(token, deadline_ns: deadline.nanoseconds)
    }

    /// Moves a timer to another deadline and gives it another interval, nil for none: it begins a new grid at `deadline`.
    ///
    /// Its policy stays; its tolerance stays as far as the new interval allows. Returns false if the token is stale.
    @discardableResult
    public func reschedule(_ token: TimerToken, at deadline: Instant, every interval: Duration?) -> Bool {
        core.arm(token, deadline_ns: deadline.nanoseconds, interval: .new(interval))
    }

    /// Moves a timer to `delay` from now on the engine's clock, as for a timeout that is to be put off; its interval stays.
    ///
    /// Returns false if the token is stale.
    @discardableResult
    public func reschedule(_ token: TimerToken, after delay: some TimeSpan) -> Bool {
        core.arm(token, after: delay)
    }
}

extension ClockTimerEngine {
    /// A handler in a struct: generic code that passes a bare function on wraps it, which allocates memory.
    private struct Handler {
        let call: @Sendable (Fire) -> Void
    }

    /// Returns what the core calls: it makes each fire as one of the monotonic clock, where the handler needs no wrapping.
    private static func target(_ handler: @escaping @Sendable (Fire) -> Void) -> TimerTarget {
        // Not consuming: unoptimised code of Swift 6.3 releases such a parameter twice, if a closure captures it in one branch.
        if Instant.self == MonotonicInstant.self {
            // Safe: both are the same type, which only the compiler does not know.
            return unsafe .handler(unsafeBitCast(Handler(call: handler), to: TimerEngine.Handler.self).call)
        }
        return .handler { handler(Fire($0)) }
    }
}

/// An engine on the clock that goes on while the system is suspended.
public typealias BootTimeTimerEngine = ClockTimerEngine<BootTimeInstant>

/// An engine on the time of day, which follows steps of that clock.
public typealias WallTimerEngine = ClockTimerEngine<WallInstant>
#endif

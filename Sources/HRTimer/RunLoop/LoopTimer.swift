public import HRTimerCore

/// A timer of a `TimerLoop`: Foundation's `Timer`, as exact as the kernel is.
///
///     LoopTimer.scheduled(timeInterval: .milliseconds(10), repeats: true) { timer in … }
///
/// Fires on its loop's thread, in the first pass at or after its deadline in one of its modes; never early, on
/// `CLOCK_MONOTONIC`. The first deadline is one interval after the timer was made, unless an instant is given. A repeating
/// timer keeps to the grid of its first deadline: the next one is the first grid point after its handler returned, so that
/// any number of missed ticks makes one call; see `MissedTickPolicy` for the other rules.
///
/// An interval of zero or less counts as 0.1 ms if the timer repeats. An instant in the past counts as now, also for the
/// grid. `distantFuture` never fires. NaN makes a timer that is invalid from the start.
///
/// The handler and the user information are freed by `invalidate()`, and once a timer that does not repeat has fired. All
/// members may be called from any thread, and from the handler.
public final class LoopTimer: Sendable {
    /// What a timer calls.
    public typealias Handler = @Sendable (LoopTimer) -> Void

    let state: Locked<State>

    struct State: Sendable {
        /// Nil once the timer is invalid.
        var handler: Handler?
        var userInfo: (any Sendable)?
        var deadline_ns: Int64
        var origin: Origin
        var repetition: Repetition
        var tolerance_ns: Int64 = 0
        /// Nil for the loop's own.
        var precision: TimerPrecision?
        private(set) weak var loop: TimerLoop?
        private(set) var token: TimerToken?
        /// The loop's address: to compare it costs nothing, to load a weak reference some 50 ns.
        private var loopID: ObjectIdentifier?
        /// The loop is inside the handler.
        var isFiring = false
        /// The deadline was set while the loop was inside the handler.
        var isMoved = false
        var lastFired_ns: Int64?
        /// Ticks without a call since the last call, and as the handler sees them.
        var uncountedTicks = 0
        var missedTicks = 0
        /// What follows the call that runs, unless it is moved.
        var ticksAfter = TickCount(deadline_ns: .max)
        /// The date in seconds that was given for a deadline.
        var givenDate: (deadline_ns: Int64, seconds: Double)?

        mutating func enter(_ loop: TimerLoop, _ token: TimerToken) {
            self.loop = loop
            self.token = token
            loopID = ObjectIdentifier(loop)
        }

        mutating func leave() {
            loop = nil
            token = nil
            loopID = nil
        }

        func isIn(_ loop: TimerLoop) -> Bool { loopID == ObjectIdentifier(loop) }

        init(
            handler: Handler?,
            userInfo: (any Sendable)?,
            deadline_ns: Int64,
            origin: Origin,
            repetition: Repetition
        ) {
            self.handler = handler
            self.userInfo = userInfo
            self.deadline_ns = deadline_ns
            self.origin = origin
            self.repetition = repetition
        }

        /// The next deadline, or of an invalid timer the one it fired for last.
        var shownDeadline_ns: Int64 { handler == nil ? lastFired_ns ?? deadline_ns : deadline_ns }
    }

    /// Where the first deadline came from: that decides what becomes of it when the timer is added to a loop.
    enum Origin: Sendable {
        /// One interval after the timer was made, which a loop on another clock counts anew.
        case interval(ns: Int64)
        /// An instant that had passed, or not, when it was given.
        case instant(isPast: Bool)
        /// The same for an instant of the wall clock.
        case date(wall_ns: Int64, isPast: Bool)
        /// The loop's own clock was asked already.
        case settled
    }

    init(deadline_ns: Int64, origin: Origin, repetition: Repetition, userInfo: (any Sendable)?, handler: Handler?) {
        state = Locked(
            State(
                handler: handler,
                userInfo: userInfo,
                deadline_ns: deadline_ns,
                origin: origin,
                repetition: repetition
            )
        )
    }

    /// A timer that fires one interval from now, and if it repeats at every interval after that. Not in a loop yet.
    public convenience init(
        timeInterval: Duration,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        block: @escaping Handler
    ) {
        let repetition = Repetition(every: repeats ? timeInterval : nil, policy: policy)
        let first_ns = repeats ? repetition.interval_ns : timeInterval.nanosecondsRoundedUp
        self.init(
            deadline_ns: MonotonicInstant.now.nanoseconds.addingSaturating(max(0, first_ns)),
            origin: .interval(ns: max(0, first_ns)),
            repetition: repetition,
            userInfo: userInfo,
            handler: block
        )
    }

    /// A timer that fires at `instant`, and if it repeats at every interval after that. Not in a loop yet.
    public convenience init(
        fireAt instant: MonotonicInstant,
        interval: Duration,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        block: @escaping Handler
    ) {
        self.init(
            deadline_ns: instant.nanoseconds,
            origin: .instant(isPast: instant < .now),
            repetition: Repetition(every: repeats ? interval : nil, policy: policy),
            userInfo: userInfo,
            handler: block
        )
    }

    /// A timer in the default mode of the calling thread's loop.
    @available(*, noasync)
    @discardableResult
    public static func scheduled(
        timeInterval: Duration,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        block: @escaping Handler
    ) -> LoopTimer {
        schedule(.init(timeInterval: timeInterval, repeats: repeats, policy: policy, userInfo: userInfo, block: block))
    }

    @available(*, noasync)
    static func schedule(_ timer: LoopTimer) -> LoopTimer {
        TimerLoop.current.add(timer, forMode: .default)
        return timer
    }
}

extension LoopTimer {
    /// True until `invalidate()`, or until the handler of a timer that does not repeat has returned.
    public var isValid: Bool { state.withLock { $0.handler != nil } }

    /// The interval, zero for a timer that does not repeat.
    public var interval: Duration { .nanoseconds(state.withLock { $0.repetition.interval_ns }) }

    /// What happens to ticks that were missed.
    public var policy: MissedTickPolicy { state.withLock { $0.repetition.policy } }

    /// Nominal deadlines without a call of their own, as the present or latest call saw them: those that passed during the
    /// handler before, and if this call was late those after its own deadline.
    public var missedTicks: Int { state.withLock { $0.missedTicks } }

    /// What the timer was made with; nil once it is invalid.
    public var userInfo: (any Sendable)? { state.withLock { $0.userInfo } }

    /// The next deadline; inside the handler, the one that it was called for. For an invalid timer the last it fired for.
    ///
    /// Setting it moves the next call, and the grid of a repeating timer with it; a past instant counts as now. Inside the
    /// handler it takes the place of the deadline that would come next. `distantFuture` pauses the timer. A timer that does
    /// not repeat still becomes invalid after the handler that is running; on an invalid one it does nothing.
    public var fireInstant: MonotonicInstant {
        get { MonotonicInstant(nanoseconds: state.withLock { $0.shownDeadline_ns }) }
        set { move(to: newValue.nanoseconds, origin: .instant(isPast: newValue < .now)) }
    }

    /// How much later than its deadline a call may come, in seconds, so that it can share a wake-up with others. Never
    /// earlier; the grid does not move. Zero at first, as are negative values and NaN; at most half the interval if the timer
    /// repeats. A tenth of the interval is a good rule where the moment does not matter; see `precision` for when it counts.
    public var tolerance: Double {
        get { Double(state.withLock { $0.tolerance_ns }) / 1e9 }
        set {
            let asked_ns = Duration(roundingUpSeconds: newValue)?.nanosecondsRoundedUp ?? 0
            update { state, loop in
                let limit_ns = state.repetition.repeats ? state.repetition.interval_ns / 2 : .max
                state.tolerance_ns = min(max(0, asked_ns), limit_ns)
                return loop.map { Self.rearm(&state, $0) } ?? false
            }
        }
    }

    /// Ends the timer: takes it out of its loop and frees the handler and the user information. Idempotent.
    ///
    /// On the loop's own thread no call comes after this returned; elsewhere a call that has begun goes on. A timer that is
    /// due in the same pass but invalidated by an earlier handler does not fire.
    public func invalidate() {
        // Let go without a lock: freeing what a handler captured may come back here.
        let freed = withLoop { state, loop -> Freed in
            let record = state.token.flatMap { loop?.forget($0) }
            defer {
                state.handler = nil
                state.userInfo = nil
                state.leave()
            }
            return Freed(handler: state.handler, userInfo: state.userInfo, record: record)
        }
        withExtendedLifetime(freed) {}
    }

    /// A struct, since a function by itself is wrapped, and the wrapping allocated, when it passes through what is generic.
    private struct Freed {
        var handler: Handler?
        var userInfo: (any Sendable)?
        var record: LoopState.TimerRecord?
    }

    /// Sets the next deadline, and the date it was given as. The origin counts only as long as there is no loop.
    func move(to deadline_ns: Int64, origin: Origin, givenSeconds: Double? = nil) {
        update { state, loop in
            guard state.handler != nil else { return false }
            state.isMoved = state.isFiring
            if let loop {
                state.deadline_ns = max(deadline_ns, loop.time.now_ns)
            } else {
                state.deadline_ns = deadline_ns
                state.origin = origin
            }
            state.givenDate = givenSeconds.map { (state.deadline_ns, $0) }
            return loop.map { Self.rearm(&state, $0) } ?? false
        }
    }
}

// The two locks.
extension LoopTimer {
    /// Calls `body` under the timer's lock. The loop is let go after it: this may be its last reference, and a loop that
    /// ends takes the locks of its timers.
    func withLoop<Result>(_ body: (inout State, TimerLoop?) -> Result) -> Result {
        var loop: TimerLoop?
        defer { withExtendedLifetime(loop) {} }
        return state.withLock { state in
            loop = state.loop
            return body(&state, loop)
        }
    }

    /// As `withLoop`, and then wakes the loop if `body` says so.
    func update(_ body: (inout State, TimerLoop?) -> Bool) {
        let toWake = withLoop { state, loop in body(&state, loop) ? loop : nil }
        toWake?.waiter.wake()
    }

    func rearm() {
        update { state, loop in loop.map { Self.rearm(&state, $0) } ?? false }
    }

    /// True if the loop must be woken. A timer whose handler runs is armed when that has returned.
    static func rearm(_ state: inout State, _ loop: TimerLoop) -> Bool {
        guard !state.isFiring, let token = state.token else { return false }
        return loop.arm(token, state.arming)
    }

    func attach(to loop: TimerLoop, _ mode: TimerLoop.Mode) {
        let mustWake = withLoop { state, present -> Bool in
            guard state.handler != nil else { return false }
            if let present {
                guard present === loop, let token = state.token else { return false }
                return loop.addMode(mode, to: token)
            }
            guard let token = loop.addTimer(self, to: mode) else { return false }
            state.enter(loop, token)
            state.deadline_ns = Self.settle(state, loop.time)
            state.origin = .settled
            return Self.rearm(&state, loop)
        }
        if mustWake { loop.waiter.wake() }
    }

    /// The deadline by the clock of the loop that the timer is added to.
    private static func settle(_ state: State, _ time: TimeBase) -> Int64 {
        switch (state.origin, time.virtual) {
        case (.interval(let interval_ns), let virtual?): virtual.now_ns.addingSaturating(interval_ns)
        case (.date(let wall_ns, _), .some): max(time.instant_ns(wall_ns: wall_ns), time.now_ns)
        case (.instant(isPast: true), nil), (.date(_, isPast: true), nil), (.instant, .some):
            max(state.deadline_ns, time.now_ns)
        default: state.deadline_ns
        }
    }

    func detach(from loop: TimerLoop, _ mode: TimerLoop.Mode) {
        let record = withLoop { state, present -> LoopState.TimerRecord? in
            guard present === loop, let token = state.token else { return nil }
            let record = loop.removeTimer(token, from: mode)
            if record != nil { state.leave() }
            return record
        }
        withExtendedLifetime(record) {}
    }

    var isInLoop: Bool { withLoop { _, present in present != nil } }

    func token(in loop: TimerLoop) -> TimerToken? {
        withLoop { state, present in present === loop ? state.token : nil }
    }
}

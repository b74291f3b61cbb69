#if os(Linux)
import HRTimerCore

extension LoopTimer {
    /// The state of a timer, in a loop or out of one. Noncopyable, since a copy would count the references in it.
    struct State: ~Copyable, Sendable {
        /// Nil once the timer is invalid.
        var handler: OwnerFunction?
        var extras: Extras?
        var deadline_ns: Int64
        var origin: Origin
        var repetition: Recurrence
        var tolerance_ns: Int64 = 0
        var lastFired_ns: Int64?
        // These share a word with the last byte of `lastFired_ns`.
        /// Whether the timer was invalidated, and did not just end: then a call that waits for its actor does not come.
        var isRevoked = false
        var keepsLoopRunning = true
        /// The timer's own precision; nil for the loop's.
        var precision: TimerPrecision?
        /// Whether the loop is inside the handler.
        var isFiring = false
        /// Whether the deadline was set while the loop was inside the handler.
        var isMoved = false
        /// The missed ticks that the loop's present or latest call reports; see `reportedMisses`.
        var missedTicks = 0
        /// The unreported ticks and the fraction of the deadline. While the handler runs, the position that follows the call,
        /// unless the timer is moved.
        var ticks = GridPosition(deadline_ns: .max)
        /// The deadline's dates; nil until a date was given or asked for.
        var date: FireDate?
        /// The clock that the timer follows; nil for the loop's own clock.
        var followed: FollowedClock?
        /// The jitter, which few timers have. A pointer rather than an object, since references to an object would be counted.
        /// Safe because it is guarded as the state is, never passed on, and freed with the timer.
        nonisolated(unsafe) var jitter: UnsafeMutablePointer<LoopTimer.LoopJitter>?

        init(
            handler: __owned OwnerFunction?,
            extras: __owned Extras?,
            deadline_ns: Int64,
            origin: Origin,
            repetition: Recurrence,
            tolerance_ns: Int64,
            date: __owned FireDate?,
            followed: __owned FollowedClock?
        ) {
            self.handler = handler
            self.extras = extras
            self.deadline_ns = deadline_ns
            self.origin = origin
            self.repetition = repetition
            self.tolerance_ns = tolerance_ns
            self.date = date
            self.followed = followed
        }

        /// Returns the next deadline, or for an invalid timer the last one it fired for.
        func shownDeadline_ns(_ time: TimeBase) -> Int64 {
            if handler == nil { return lastFired_ns ?? deadline_ns }
            guard let followed, followed.isFollowing, !isFiring else { return deadline_ns }
            return followed.monotonic_ns(time)
        }
    }

    /// What few timers have, by reference: an existential would take five words in each, and a check to copy it and to free it.
    final class Extras: Sendable {
        let userInfo: (any Sendable)?
        /// The calls on the handler's actor, with what they report; nil before the first one, and without an actor.
        let calls: ActorCalls?

        /// The end of a call during which the timer was invalidated, until its handler has returned. The rest is nil then.
        let ending: Ending?
        /// The thread that is inside the handler, if the timer was taken out of its loop meanwhile; it may be in another loop.
        /// Safe because it is only compared.
        nonisolated(unsafe) let threadOfFormerLoop: UnsafeRawPointer?

        init(
            userInfo: (any Sendable)?,
            calls: ActorCalls? = nil,
            ending: Ending? = nil,
            threadOfFormerLoop: UnsafeRawPointer? = nil
        ) {
            self.userInfo = userInfo
            self.calls = calls
            self.ending = ending
            self.threadOfFormerLoop = threadOfFormerLoop
        }
    }

    /// Where the first deadline came from. This decides what becomes of the deadline when the timer is added to a loop.
    enum Origin: Sendable {
        /// One interval after the timer was made, on the time `clock`. A loop on another time counts the interval again.
        case interval(ns: Int64, clock: TimeID)
        /// An instant, with the times on whose clocks it had passed when it was given.
        case instant(PassedOn)
        /// An instant of the wall clock, with the times on whose clocks it had passed when it was given.
        case date(wall_ns: Int64, PassedOn)
        /// An instant of another clock, which the timer follows.
        case followed
        /// The deadline is resolved by the loop's own clock.
        case resolved
    }
}

extension LoopTimer.State {
    var options: TimerOptions {
        TimerOptions(
            tolerance_ns: (precision ?? .coalesced) == .coalesced ? tolerance_ns : 0,
            isPrecise: precision == .precise
        )
    }

    /// Resolves the deadline by the clock of the loop that the timer is added to.
    mutating func resolveDeadline(_ time: TimeBase) {
        followed?.resolveDeadline(time)
        switch origin {
        case .interval(let interval_ns, let clock) where clock != time.id:
            deadline_ns = time.now_ns.addingSaturating(interval_ns)
        case .date(let wall_ns, let passed):
            let isConverted = date?.clock == time.id
            if !isConverted { deadline_ns = time.instant_ns(wall_ns: wall_ns) }
            if passed.contains(time) { deadline_ns = max(deadline_ns, time.now_ns) }
            if !isConverted { date?.resolveDeadline(to: deadline_ns, wall_ns: wall_ns, clock: time.id) }
        case .instant(let passed) where passed.contains(time):
            deadline_ns = max(deadline_ns, time.now_ns)
        default: break
        }
        if !isResolved { placeFirst() }
        origin = .resolved
    }

    /// Whether the deadline is on the loop's clock and includes the timer's jitter.
    var isResolved: Bool {
        if case .resolved = origin { return true }
        return false
    }

    /// Sets the next deadline. `origin` counts only as long as there is no loop. Returns false if the timer is invalid.
    mutating func move(to deadline_ns: Int64, origin: LoopTimer.Origin) -> Bool {
        guard handler != nil else { return false }
        isMoved = isFiring
        // A new grid, of which no tick has passed. Inside the handler `endCall` starts it.
        if !isFiring { ticks = GridPosition(deadline_ns: .max) }
        self.deadline_ns = deadline_ns
        self.origin = origin
        date = nil
        followed?.detach()
        jitter?.pointee.shift_ns = 0
        if isResolved { placeJitter() }
        return true
    }

    /// Moves out what may run a user's code when it is freed, to be released without a lock. The timer is invalid from now on.
    mutating func takeReferences(_ released: inout Released) {
        swap(&released.function, &handler)
        if extras?.calls != nil { missedTicks = reportedMisses }
        if let extras, extras.ending == nil { released.object = self.extras.take() }
    }

    /// Called when the timer leaves its loop, with the thread that makes that loop's calls.
    mutating func noteFormerLoop(_ thread: UnsafeRawPointer?) {
        if !isFiring { return }
        let extras = self.extras
        self.extras = LoopTimer.Extras(userInfo: extras?.userInfo, calls: extras?.calls, threadOfFormerLoop: thread)
    }

    /// Called when the timer has become invalid, with the thread that makes the calls of its loop. If its handler runs, others
    /// can wait from now on until it has returned.
    mutating func noteEnding(_ callingThread: UnsafeRawPointer?) {
        if isFiring { addEnding(callingThread) }
    }

    private mutating func addEnding(_ callingThread: UnsafeRawPointer?) {
        if extras != nil { return }
        extras = LoopTimer.Extras(userInfo: nil, ending: LoopTimer.Ending(thread: callingThread))
    }

    /// The missed ticks that the present or latest call of the handler reports, on the loop's thread or on an actor.
    var reportedMisses: Int { extras?.calls.map { max(0, $0.reportedTicks - 1) } ?? missedTicks }

    /// Returns how many ticks the loop's present call is for, which `calls` reports on the handler's actor; 0 outside of a
    /// call, for `fire()`. Stores `calls` for `reportedMisses`.
    mutating func ticksOfCall(_ calls: ActorCalls) -> Int {
        if handler != nil, extras?.calls !== calls {
            let thread = extras?.threadOfFormerLoop
            extras = LoopTimer.Extras(userInfo: extras?.userInfo, calls: calls, threadOfFormerLoop: thread)
        }
        return isFiring ? missedTicks + 1 : 0
    }
}

// How a repeating timer handles its deadlines.
extension LoopTimer.State {
    /// Begins the call for the deadline, which has come. Returns false if the policy leaves this tick out: the deadline is then
    /// the next one.
    mutating func beginCall(now_ns: Int64) -> Bool {
        var (grid_ns, gridNow_ns, isOnGrid) = (deadline_ns, now_ns, true)
        if let followed {
            gridNow_ns = followed.now_ns
            // If the clock was set back after the alarm expired, the call comes nevertheless. A moved timer begins a new grid.
            grid_ns = followed.isFollowing ? min(followed.deadline_ns, gridNow_ns) : gridNow_ns
            isOnGrid = followed.isFollowing && grid_ns == followed.deadline_ns
            if !isOnGrid { jitter?.pointee.ticks?.delay_ns = 0 }
        }
        var ticks = GridPosition(
            deadline_ns: grid_ns,
            roundedUp_as: isOnGrid ? self.ticks.roundedUp_as : 0,
            unreported: self.ticks.unreported
        )
        guard let reported = beginTick(&ticks, gridNow_ns) else {
            wait(for: ticks)
            return false
        }
        isFiring = true
        isMoved = false
        lastFired_ns = deadline_ns
        missedTicks = reported
        self.ticks = ticks
        return true
    }

    var beforeCall: BeforeCall {
        BeforeCall(
            ticks: ticks,
            delay_ns: jitter?.pointee.ticks?.delay_ns ?? 0,
            missedTicks: missedTicks,
            lastFired_ns: lastFired_ns
        )
    }

    /// Restores the state as if the call had not begun.
    mutating func restore(_ before: BeforeCall) {
        isFiring = false
        lastFired_ns = before.lastFired_ns
        missedTicks = before.missedTicks
        ticks = before.ticks
        jitter?.pointee.ticks?.delay_ns = before.delay_ns
    }

    /// Ends the call and sets the next deadline. Returns false if there is none.
    mutating func endCall(now_ns: Int64) -> Bool {
        isFiring = false
        if let extras, extras.threadOfFormerLoop != nil {
            self.extras = LoopTimer.Extras(userInfo: extras.userInfo, calls: extras.calls)
        }
        guard repetition.repeats, handler != nil else { return false }
        if isMoved {
            ticks = GridPosition(deadline_ns: .max)
        } else {
            endTick(followed?.now_ns ?? now_ns)
            wait(for: ticks)
        }
        return true
    }

    /// Moves the next deadline and the grid back, on the loop's clock; a timer that follows another clock stays as it is. While
    /// the handler runs, the next deadline is the one that follows the call.
    mutating func moveBack(by length_ns: Int64) {
        if isFiring, !isMoved {
            if followed != nil { return }
            // None yet: the interval begins when the handler returns.
            if ticks.deadline_ns < .max { ticks.deadline_ns = ticks.deadline_ns.subtractingSaturating(length_ns) }
        } else if deadline_ns < .max {
            deadline_ns = deadline_ns.subtractingSaturating(length_ns)
        }
    }

    /// Sets the next deadline, on the timer's own clock.
    private mutating func wait(for ticks: GridPosition) {
        deadline_ns = followed == nil ? ticks.deadline_ns : .max
        self.ticks = ticks
        followed?.follow(ticks.deadline_ns)
    }
}
#endif

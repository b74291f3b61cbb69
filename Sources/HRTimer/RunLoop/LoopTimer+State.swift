#if os(Linux)
import HRTimerCore

extension LoopTimer {
    /// What a timer is, in a loop and out of one. Not copied, which would count the references in it.
    struct State: ~Copyable, Sendable {
        /// Nil once the timer is invalid.
        var handler: OwnerFunction?
        var extras: Extras?
        var deadline_ns: Int64
        var origin: Origin
        var repetition: Recurrence
        var tolerance_ns: Int64 = 0
        var lastFired_ns: Int64?
        // These share the word of that one's last byte.
        /// It was invalidated, and did not just end: a call that waits for its actor does not come.
        var isRevoked = false
        var keepsLoopRunning = true
        /// Nil for the loop's own.
        var precision: TimerPrecision?
        /// The loop is inside the handler.
        var isFiring = false
        /// It was taken out of the loop that is inside the handler, and may be in another.
        var hasLeftItsCall = false
        /// The deadline was set while the loop was inside the handler.
        var isMoved = false
        /// Those that the loop's present or latest call reports; see `reportedMisses`.
        var missedTicks = 0
        /// What is unreported, and the fraction of the deadline; while the handler runs, what follows unless the timer is moved.
        var ticks = GridPosition(deadline_ns: .max)
        /// Nil until a date was given or asked for.
        var date: FireDate?
        /// Nil for the loop's own clock.
        var followed: FollowedClock?
        /// Of the few that have one. A pointer and no object: no references are counted for it. Safe as the state is; never
        /// given out, and freed with the timer.
        nonisolated(unsafe) var jitter: UnsafeMutablePointer<LoopTimer.LoopJitter>?

        @inline(__always)
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

        /// The next deadline, or of an invalid timer the one it fired for last.
        func shownDeadline_ns(_ time: TimeBase) -> Int64 {
            if handler == nil { return lastFired_ns ?? deadline_ns }
            guard let followed, followed.isFollowing, !isFiring else { return deadline_ns }
            return followed.monotonic_ns(time)
        }
    }

    /// By reference, since few timers have any: an existential is five words in each, and costs a look to copy and to free.
    final class Extras: Sendable {
        let userInfo: (any Sendable)?
        /// What the calls on the handler's actor report; nil before the first, and for a handler of no actor.
        let calls: ActorCalls?

        /// Of a timer that was invalidated while the loop was inside its handler, until that has returned. There is nothing else
        /// then.
        let ending: Ending?

        init(userInfo: (any Sendable)?, calls: ActorCalls? = nil, ending: Ending? = nil) {
            self.userInfo = userInfo
            self.calls = calls
            self.ending = ending
        }
    }

    /// Where the first deadline came from: that decides what becomes of it when the timer is added to a loop.
    enum Origin: Sendable {
        /// One interval after the timer was made by the clock of a time; a loop on another one counts it
        /// again.
        case interval(ns: Int64, clock: TimeID)
        /// An instant that had passed on those clocks when it was given.
        case instant(PassedOn)
        /// The same for an instant of the wall clock.
        case date(wall_ns: Int64, PassedOn)
        /// An instant of another clock, which the timer follows.
        case followed
        /// The loop's own clock was asked already.
        case resolved
    }
}

extension LoopTimer.State {
    @inline(__always)
    var options: TimerOptions {
        TimerOptions(
            tolerance_ns: (precision ?? .coalesced) == .coalesced ? tolerance_ns : 0,
            isPrecise: precision == .precise
        )
    }

    /// The deadline by the clock of the loop that the timer is added to.
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

    /// Its deadline is on the loop's clock, and has the timer's jitter.
    var isResolved: Bool {
        if case .resolved = origin { return true }
        return false
    }

    /// Sets the next deadline. The origin counts only as long as there is no loop. False if the timer is invalid.
    mutating func move(to deadline_ns: Int64, origin: LoopTimer.Origin) -> Bool {
        guard handler != nil else { return false }
        isMoved = isFiring
        // A new grid, of which no tick has passed; inside the handler `endCall` sees to that.
        if !isFiring { ticks = GridPosition(deadline_ns: .max) }
        self.deadline_ns = deadline_ns
        self.origin = origin
        date = nil
        followed?.detach()
        jitter?.pointee.shift_ns = 0
        if isResolved { placeJitter() }
        return true
    }

    /// What a user's code may be freed with: to be let go without a lock. The timer is invalid from now on.
    @inline(__always)
    mutating func takeReferences(_ released: inout Released) {
        swap(&released.function, &handler)
        if extras?.calls != nil { missedTicks = reportedMisses }
        if let extras, extras.ending == nil { released.object = self.extras.take() }
    }

    /// The timer is invalid. If its handler runs, who waits for that can do so until it has returned.
    mutating func noteEnding(_ core: LoopCore?) {
        guard isFiring, extras == nil else { return }
        extras = LoopTimer.Extras(userInfo: nil, ending: LoopTimer.Ending(hasLeftItsCall ? nil : core))
    }

    /// The missed ticks that the handler's present or latest call reports, on the loop's thread or an actor.
    var reportedMisses: Int { extras?.calls.map { max(0, $0.reportedTicks - 1) } ?? missedTicks }

    /// How many ticks the loop's present call is for, to be reported on the handler's actor by `calls`; none outside of
    /// a call, for `fire()`.
    mutating func ticksOfCall(_ calls: ActorCalls) -> Int {
        if handler != nil, extras?.calls !== calls {
            extras = LoopTimer.Extras(userInfo: extras?.userInfo, calls: calls)
        }
        return isFiring ? missedTicks + 1 : 0
    }
}

// What a repeating timer does about its deadlines.
extension LoopTimer.State {
    /// Begins the call for the deadline, which has come, of `handler`, nil before. False if the policy leaves this tick
    /// out: the deadline is the next one then.
    @inline(__always)
    mutating func beginCall(now_ns: Int64, _ handler: inout OwnerFunction?) -> Bool {
        var (grid_ns, gridNow_ns, isOnGrid) = (deadline_ns, now_ns, true)
        if let followed {
            gridNow_ns = followed.now_ns
            // If the clock was set back after the alarm expired, the call comes all the same. A timer that was moved
            // begins a new grid.
            grid_ns = followed.isFollowing ? min(followed.deadline_ns, gridNow_ns) : gridNow_ns
            isOnGrid = followed.isFollowing && grid_ns == followed.deadline_ns
            if !isOnGrid { jitter?.pointee.ticks?.delay_ns = 0 }
        }
        var ticks = GridPosition(
            deadline_ns: grid_ns,
            roundedUp_as: isOnGrid ? self.ticks.roundedUp_as : 0,
            unreported: self.ticks.unreported
        )
        guard let told = beginTick(&ticks, gridNow_ns) else {
            wait(for: ticks)
            return false
        }
        isFiring = true
        isMoved = false
        lastFired_ns = deadline_ns
        missedTicks = told
        self.ticks = ticks
        if let function = self.handler { fill(&handler, function) }
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

    /// As if the call had not begun.
    mutating func restore(_ before: BeforeCall) {
        isFiring = false
        lastFired_ns = before.lastFired_ns
        missedTicks = before.missedTicks
        ticks = before.ticks
        jitter?.pointee.ticks?.delay_ns = before.delay_ns
    }

    /// Ends the call and sets the next deadline. False if there is none.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    mutating func endCall(now_ns: Int64) -> Bool {
        isFiring = false
        hasLeftItsCall = false
        guard repetition.repeats, handler != nil else { return false }
        if isMoved {
            ticks = GridPosition(deadline_ns: .max)
        } else {
            endTick(followed?.now_ns ?? now_ns)
            wait(for: ticks)
        }
        return true
    }

    /// The next deadline, on the timer's own clock.
    private mutating func wait(for ticks: GridPosition) {
        deadline_ns = followed == nil ? ticks.deadline_ns : .max
        self.ticks = ticks
        followed?.follow(ticks.deadline_ns)
    }
}
#endif

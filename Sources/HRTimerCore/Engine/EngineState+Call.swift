import CHRTimer
import Glibc

// What the engine's thread does.
extension EngineState {
    /// The call that the thread makes up, and makes: one at a time, in one place. It is the thread's own, and filled with the
    /// lock held. What it holds at the end is let go after the lock.
    struct Call: ~Copyable {
        fileprivate(set) var due = hrt_due()
        /// What it is called for: that of `due`, or an earlier one if the timer was armed for the past.
        fileprivate(set) var deadline_ns = Int64.max
        fileprivate(set) var token = TimerToken.stale
        /// Out of the timer's record while it is called, so that nobody counts references for it.
        var action: EngineCore.Action?
        /// What to call of a staged handler.
        var staged: StagedCall?
        /// Ticks beside the one of the call, and how far the timer has come with it.
        fileprivate(set) var missedTicks = 0
        fileprivate var ticks = GridPosition(deadline_ns: .max)
        /// From when on it counts as late: its deadline, unless it was armed later.
        fileprivate(set) var lateFrom_ns = Int64.min
        /// What the clock read when it was made up.
        fileprivate(set) var begun_ns = Int64.min
        /// What is left to do after the lock.
        fileprivate var block: Callback?
        fileprivate var whileRunning: Latch?
        fileprivate var hasEngineEnded = false

        /// Made up before its deadline, which the thread waits for.
        var isAhead: Bool { due.deadline_ns > begun_ns }

        /// How late it is at `now_ns`. One that was armed for the past is not late before it was armed, by another thread maybe,
        /// after this one looked at the clock.
        func lateness_ns(_ now_ns: Int64) -> Int64 {
            if lateFrom_ns > deadline_ns { return max(0, now_ns.subtractingSaturating(lateFrom_ns)) }
            return now_ns.subtractingSaturating(deadline_ns)
        }

        /// The engine does not wait for the deadline: the thread that the call was submitted to does, and records the lateness.
        var isEarly: Bool {
            if case .early = action { return true }
            return staged?.isEarly ?? false
        }
    }

    enum Step {
        case ended
        /// There is more to do; others have a chance to take the lock before.
        case again
        /// The call is made up.
        case call
        case sleep(TimerSchedule.Wake)
    }

    /// The thread came back from a wait.
    mutating func wakeUp() {
        statistics.wakeups += 1
        hasLooked = false
        lastDeadline_ns = nil
    }

    /// What to do next. Calls are made up for all deadlines up to `upTo_ns`, maybe ahead of now, but for none after
    /// `limit_ns`.
    mutating func step(_ now_ns: Int64, upTo_ns: Int64, limit_ns: Int64, _ call: inout Call) -> Step {
        if isShutDown { return .ended }
        looked_ns = now_ns
        schedule.stayAwake()
        if !isTurning {
            isTurning = true
            schedule.beginTurn()
        }
        while true {
            switch schedule.next(now_ns: min(max(now_ns, upTo_ns), limit_ns)) {
            case .due(let due):
                note(due)
                if begin(due, now_ns, &call) { return .call }
            case .more:
                return .again
            case .none:
                if !hasLooked { statistics.spuriousWakeups += 1 }
                hasLooked = true
                isTurning = false
                return schedule.hasPutOff ? .again : rest()
            }
        }
    }

    private mutating func note(_ due: hrt_due) {
        hasLooked = true
        if schedule.precision == .coalesced, let lastDeadline_ns, lastDeadline_ns != due.deadline_ns {
            statistics.wakeupsSaved += 1
        }
        lastDeadline_ns = due.deadline_ns
    }

    /// Nothing is due: tidies up a little, or sleeps.
    private mutating func rest() -> Step {
        if schedule.settle() { return .again }
        if isTrimmingTimers {
            isTrimmingTimers = timers.trim { !$0.isInUse }
            return .again
        }
        if schedule.wantsTrim {
            isTrimmingTimers = !schedule.trim()
            return .again
        }
        let wake = schedule.nextWake
        schedule.sleep(until: wake)
        return .sleep(wake)
    }

    /// Makes up the call. False if the policy leaves this tick out, or if there is nothing to call.
    private mutating func begin(_ due: hrt_due, _ now_ns: Int64, _ call: inout Call) -> Bool {
        call.due = due
        call.deadline_ns = timers[due.token.slot].deadline_ns
        call.token = schedule.token(due)
        call.begun_ns = now_ns
        let call_ns = max(now_ns, due.deadline_ns)
        swap(&call.action, &timers[due.token.slot].action)
        let isToBeMade: Bool
        switch call.action {
        case .call, .early: isToBeMade = beginPlain(call_ns, &call)
        case .staged(let owner):
            // By `setOwned`, which writes no record.
            if timers[due.token.slot].isOwned { call.deadline_ns = due.deadline_ns }
            isToBeMade = begin(owner, call_ns, &call)
        case nil: return false
        }
        guard isToBeMade else {
            swap(&call.action, &timers[due.token.slot].action)
            return false
        }
        call.lateFrom_ns = max(call.deadline_ns, timers[due.token.slot].lateFrom_ns)
        running = (call.token, pthread_self())
        statistics.fires += 1
        isAhead = due.deadline_ns > now_ns
        if isAhead {
            spin.wait()
            schedule.sleep(until: TimerSchedule.Wake(at_ns: due.deadline_ns, isPrecise: true))
        }
        return true
    }

    private mutating func beginPlain(_ call_ns: Int64, _ call: inout Call) -> Bool {
        let slot = call.token.slot
        let before = timers[slot].untold
        call.ticks = GridPosition(
            deadline_ns: call.deadline_ns,
            roundedUp_as: timers[slot].roundedUp_as,
            unreported: before
        )
        let told = timers[slot].repetition.begin(&call.ticks, now_ns: call_ns)
        if let told {
            call.missedTicks = told
            statistics.missedTicks += UInt64(clamping: told - before)
            return true
        }
        statistics.missedTicks += UInt64(clamping: call.ticks.unreported - before)
        timers[slot].untold = call.ticks.unreported
        schedule.endCall(call.token)
        setDeadline(call.token, call.ticks.deadline_ns, roundedUp_as: call.ticks.roundedUp_as)
        return false
    }

    private mutating func begin(_ owner: any StagedHandler, _ call_ns: Int64, _ call: inout Call) -> Bool {
        if let later_ns = owner.laterDeadline() {
            setDeadline(call.token, later_ns)
            return false
        }
        // Nil before: what was called last was let go when it ended.
        call.staged = owner.begin(call_ns, &self)
        guard let missedTicks = call.staged?.missedTicks else { return false }
        call.missedTicks = missedTicks
        statistics.missedTicks += UInt64(missedTicks)
        return true
    }

    /// The call was made and its handler has returned at `now_ns`, or it was called off. True if `finish()` has something to
    /// do, after the lock.
    mutating func end(_ call: inout Call, _ now_ns: Int64, spun_ns: Int64) -> Bool {
        call.whileRunning = whileRunning.release()
        running = nil
        isAhead = false
        schedule.stayAwake()
        let isMade = call.isAhead ? spin.end() : true
        if !isMade { statistics.fires -= 1 }
        if spun_ns > 0 { statistics.spinTime += .nanoseconds(spun_ns) }
        if case .staged(let owner) = call.action { call.block = owner.end(wasCalled: isMade, &self) }
        call.hasEngineEnded = isShutDown
        let isLive = schedule.isLive(call.token)
        if isMade {
            if isLive { settleCall(&call, now_ns) }
        } else {
            // Ticks that it was to tell are in the record still, unless the timer was armed anew.
            isTurning = false
            if isLive { swap(&call.action, &timers[call.token.slot].action) }
            schedule.putBack(call.due)
        }
        return call.isUnfinished
    }

    /// Sets the next deadline of a timer that was called, unless its handler or somebody else did.
    private mutating func settleCall(_ call: inout Call, _ now_ns: Int64) {
        guard schedule.isUntouchedSinceCall(call.token) else {
            swap(&call.action, &timers[call.token.slot].action)
            return
        }
        schedule.endCall(call.token)
        if timers[call.token.slot].isOwned {
            keep(&call, untold: 0)
            return
        }
        guard timers[call.token.slot].repetition.repeats else {
            // Its action stays in the call, to be freed after the lock.
            _ = schedule.remove(call.token)
            timers[call.token.slot].isInUse = false
            return
        }
        timers[call.token.slot].repetition.end(&call.ticks, now_ns: now_ns)
        statistics.missedTicks += UInt64(clamping: call.ticks.unreported)
        keep(&call, untold: call.ticks.unreported)
        setDeadline(call.token, call.ticks.deadline_ns, roundedUp_as: call.ticks.roundedUp_as)
    }

    /// The timer goes on.
    private mutating func keep(_ call: inout Call, untold: Int) {
        timers[call.token.slot].untold = untold
        swap(&call.action, &timers[call.token.slot].action)
    }
}

extension EngineState.Call {
    fileprivate var isUnfinished: Bool { action != nil || staged != nil || block != nil || whileRunning != nil }

    /// What is left to do after the lock.
    mutating func finish() {
        block.take()?.run()
        if hasEngineEnded, case .staged(let owner) = action { owner.engineHasEnded() }
        action = nil
        staged = nil
        // What the handler captured is free by the time that whoever waits for its end goes on.
        whileRunning.take()?.open()
    }
}

import CHRTimer
import Glibc

/// The timers of an engine and what becomes of each: told the time, and knowing nothing of threads but their names.
/// `EngineCore` has the lock.
package struct EngineState: ~Copyable, Sendable {
    /// Where a timer is in its life: without a deadline; in the queue; in a batch that is being fired; or at its last
    /// deadline with the handler running, which may still arm or disarm it.
    enum Phase { case idle, armed, due, firing }

    struct Timer: Sendable {
        /// Nil in a slot that is free.
        var action: EngineCore.Action?
        var repetition = Repetition.once
        var tolerance_ns: Int64 = 0
        /// Stays after its last fire: its owner arms it again, by `setOwned`. As precise as its engine.
        var isOwned = false
        var precision = TimerPrecision.normal
        var phase = Phase.idle
        /// Ticks without a call since the last one, for `MissedTickPolicy.skip`.
        var skipped = 0
        /// Its place among the precise deadlines, if it is more precise than its engine.
        var preciseToken: TimerToken?
    }

    /// A precise deadline is spoilt by a wake-up that is late just before it: an ordinary one so near is waited for precisely
    /// too.
    private static let preciseNeighbourhood_ns: Int64 = 100_000

    let precision: TimerPrecision
    var timers = PendingTimers<Timer>()
    /// The deadlines of precise timers on an engine that is not.
    private var preciseDeadlines = PendingTimers<Void>()
    /// What the thread sleeps until. `.min` while it is awake: whoever arms need not wake it then.
    var sleepsUntil_ns = Int64.min
    /// The timer whose handler runs, and the thread that runs it.
    var running: (token: TimerToken, thread: pthread_t)?
    /// The timer whose call is made up and waits, spinning, for its deadline. Whoever cancels, moves or disarms it clears this
    /// and wakes the thread.
    var prepared: TimerToken?
    /// Calls that are made up and wait while an earlier one, armed meanwhile, has its turn; stale if called off.
    private var postponed: [TimerToken] = []
    /// Threads that wait for the running handler to return.
    var runningWaiters: [Waiter] = []
    var isShutDown = false
    var thread: pthread_t?
    var statistics = EngineStatistics()
    /// Nil until the thread has asked for its settings.
    var grants: [SettingGrant]?
    /// Threads that wait for them.
    var grantWaiters: [Waiter] = []

    init(precision: TimerPrecision) {
        self.precision = precision
    }

    @inline(__always)
    mutating func add(_ action: consuming EngineCore.Action, _ request: EngineCore.Request) -> TimerToken {
        let precision = request.precision ?? self.precision
        let isPlain = precision == self.precision && precision != .coalesced
        let token = timers.schedule(deadline_ns: isPlain ? request.deadline_ns : .max, vacant: Timer())
        // Field by field: a record moved as a whole takes as long as the arming.
        timers.records[token.slot].action = consume action
        timers.records[token.slot].repetition = request.repetition
        timers.records[token.slot].tolerance_ns = request.tolerance_ns
        timers.records[token.slot].isOwned = request.isOwned
        timers.records[token.slot].precision = precision
        timers.records[token.slot].phase = isPlain && request.deadline_ns < .max ? .armed : .idle
        timers.records[token.slot].skipped = 0
        if !isPlain { addRarely(token, request.deadline_ns) }
        return token
    }

    /// One that is more precise than its engine, or that has a tolerance.
    @inline(never)
    private mutating func addRarely(_ token: TimerToken, _ deadline_ns: Int64) {
        if precision != .precise, timers.records[token.slot].precision == .precise {
            timers.records[token.slot].preciseToken = preciseDeadlines.add(())
        }
        if deadline_ns < .max { arm(token, deadline_ns) }
    }

    /// What the timer does, to be let go after the lock: what its handler captured may call back when it is freed. Nil if the
    /// token is stale.
    mutating func remove(_ token: TimerToken) -> EngineCore.Action? {
        guard timers.removeKeepingRecord(token) else { return nil }
        if let preciseToken = timers.records[token.slot].preciseToken.take() {
            _ = preciseDeadlines.remove(preciseToken)
        }
        return timers.records[token.slot].action.take()
    }

    mutating func arm(_ token: TimerToken, _ deadline_ns: Int64) {
        // Field by field: a copy of the record would retain and release its handler.
        var tolerance_ns: Int64 = 0
        if precision == .coalesced, timers.records[token.slot].precision == .coalesced {
            tolerance_ns = timers.records[token.slot].tolerance_ns
        }
        timers.arm(token, deadline_ns: deadline_ns, tolerance_ns: tolerance_ns)
        if let preciseToken = timers.records[token.slot].preciseToken {
            preciseDeadlines.arm(preciseToken, deadline_ns: deadline_ns)
        }
        timers.records[token.slot].phase = .armed
    }

    mutating func disarm(_ token: TimerToken) {
        timers.disarm(token)
        if let preciseToken = timers.records[token.slot].preciseToken { preciseDeadlines.disarm(preciseToken) }
        timers.records[token.slot].phase = .idle
    }

    /// Arms the timer of an owner, or takes its deadline back at `.max`. True if the thread must be woken.
    ///
    /// The owner adds the timer and alone removes it: that its slot is live need not be looked up. Does nothing after the
    /// end of the engine.
    package mutating func setOwned(_ token: TimerToken, deadline_ns: Int64, tolerance_ns: Int64) -> Bool {
        guard precision != .coalesced, !isShutDown, prepared == nil, deadline_ns >= sleepsUntil_ns, deadline_ns < .max
        else { return setOwnedRarely(token, deadline_ns, tolerance_ns) }
        // The record, a cache line of its own, is left alone: `begin` asks the queue whether an owned timer was armed anew.
        timers.armOwned(token, deadline_ns: deadline_ns)
        return false
    }

    /// All of it; apart, for what is rare saves registers that the common case need not.
    @inline(never)
    private mutating func setOwnedRarely(_ token: TimerToken, _ deadline_ns: Int64, _ tolerance_ns: Int64) -> Bool {
        if isShutDown { return false }
        if deadline_ns < .max {
            timers.records[token.slot].tolerance_ns = tolerance_ns
            arm(token, deadline_ns)
        } else {
            disarm(token)
        }
        let isCalledOff = callOff(token)
        return deadline_ns < .max && mustWake(for: deadline_ns) || isCalledOff
    }

    /// When to be awake, and whether to spin up to it.
    struct Wake {
        var at_ns: Int64
        var isPrecise: Bool
    }

    var nextWake: Wake {
        let next_ns = precision == .coalesced ? timers.nextWake_ns : timers.next_ns
        if precision == .precise { return Wake(at_ns: next_ns, isPrecise: true) }
        let precise_ns = preciseDeadlines.next_ns
        if precise_ns == .max { return Wake(at_ns: next_ns, isPrecise: false) }
        let isPrecise = precise_ns.subtractingSaturating(next_ns) < Self.preciseNeighbourhood_ns
        return Wake(at_ns: min(next_ns, precise_ns), isPrecise: isPrecise)
    }

    /// Whether the thread sleeps too long for a timer armed just now. If so it counts as awake from now on, so that further
    /// deadlines send no second wake.
    mutating func mustWake(for deadline_ns: Int64) -> Bool {
        guard deadline_ns < sleepsUntil_ns, nextWake.at_ns < sleepsUntil_ns else { return false }
        sleepsUntil_ns = .min
        statistics.wakesSent += 1
        return true
    }

    /// Takes a batch out of the queue and marks its timers, so that a cancel or a new deadline before their turn is seen.
    mutating func takeDue(_ now_ns: Int64, _ batch: UnsafeMutableBufferPointer<hrt_due>) -> Int {
        let count = timers.takeDue(now_ns: now_ns, into: batch)
        for index in 0..<count {
            let slot = batch[index].token.slot
            timers.records[slot].phase = .due
            if let preciseToken = timers.records[slot].preciseToken { preciseDeadlines.disarm(preciseToken) }
        }
        return count
    }

    struct Call {
        var action: EngineCore.Action
        var missedTicks: Int
    }

    /// True if the timer's call waited for its deadline: it is called off, and the thread must be woken to see that.
    mutating func callOff(_ token: TimerToken) -> Bool {
        if prepared == token {
            prepared = nil
            // The engine's own thread comes here when the wait is over and the call has been made.
            guard let running else { return true }
            return !isCurrent(running.thread)
        }
        guard !postponed.isEmpty, let place = postponed.firstIndex(of: token) else { return false }
        postponed[place] = .stale
        return false
    }

    /// The call that is made up lets an earlier one go first. False if it was called off.
    mutating func postpone(_ token: TimerToken) -> Bool {
        guard prepared == token else { return false }
        prepared = nil
        postponed.append(token)
        return true
    }

    /// Its turn again. False if it was called off.
    mutating func resume(_ deadline_ns: Int64) -> Bool {
        let token = postponed.removeLast()
        guard token != .stale else { return false }
        running = (token, pthread_self())
        prepared = token
        sleepsUntil_ns = deadline_ns
        return true
    }

    /// Sets the next deadline and gives the call to make: nil if the timer was cancelled, moved or disarmed since it was
    /// taken, or if the policy leaves this tick out. A deadline that has not come yet is waited for by the caller.
    mutating func begin(_ token: TimerToken, _ deadline_ns: Int64, _ now_ns: Int64) -> Call? {
        guard timers.isLive(token), timers.records[token.slot].phase == .due else { return nil }
        if timers.records[token.slot].isOwned, timers.isArmed(token) || moveLater(token) { return nil }
        let repetition = timers.records[token.slot].repetition
        let tick = repetition.tick(deadline_ns: deadline_ns, now_ns: max(now_ns, deadline_ns))
        timers.records[token.slot].phase = .firing
        if let next_ns = tick.next_ns { arm(token, next_ns) }
        statistics.missedTicks += UInt64(tick.missed)
        guard tick.isCalled, let action = timers.records[token.slot].action else {
            timers.records[token.slot].skipped += tick.missed
            return nil
        }
        let skipped = timers.records[token.slot].skipped
        timers.records[token.slot].skipped = 0
        running = (token, pthread_self())
        statistics.fires += 1
        if deadline_ns > now_ns {
            prepared = token
            sleepsUntil_ns = deadline_ns
        }
        return Call(
            action: action,
            missedTicks: tick.missed.addingReportingOverflow(skipped).partialValue
        )
    }

    /// Whether the owner moved its deadline without a word, which it may when it only grows later: then it is armed for that.
    private mutating func moveLater(_ token: TimerToken) -> Bool {
        guard case .staged(let owner) = timers.records[token.slot].action, let later_ns = owner.laterDeadline() else {
            return false
        }
        arm(token, later_ns)
        return true
    }

    /// After the call: a fixed delay starts now, and what a timer did that will not fire again is given back to be freed.
    mutating func finish(_ token: TimerToken, _ now_ns: @autoclosure () -> Int64) -> EngineCore.Action? {
        running = nil
        prepared = nil
        sleepsUntil_ns = .min
        guard timers.isLive(token), timers.records[token.slot].phase == .firing else { return nil }
        timers.records[token.slot].phase = .idle
        let repetition = timers.records[token.slot].repetition
        if repetition.repeats {
            if repetition.policy == .delay { arm(token, now_ns().addingSaturating(repetition.interval_ns)) }
            return nil
        }
        return timers.records[token.slot].isOwned ? nil : remove(token)
    }

    /// Takes all timers out for good, to be let go after the lock.
    mutating func end() -> [Timer] {
        isShutDown = true
        prepared = nil
        for place in postponed.indices { postponed[place] = .stale }
        _ = preciseDeadlines.end()
        return timers.end()
    }
}

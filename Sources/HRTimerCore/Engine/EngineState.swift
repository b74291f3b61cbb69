import CHRTimer
import Glibc

/// The timers of an engine and what becomes of each: told the time, and knowing nothing of threads but their names.
///
/// All of it is under the lock of `EngineCore`. No lock is taken while it is held; no handler is called, and nothing that a
/// user's handler captured is let go.
package struct EngineState: ~Copyable, Sendable {
    /// What belongs to a timer beside its deadline.
    struct Timer: Sendable {
        /// Nil in a slot that is free, and while the engine's thread has it for a call.
        var action: EngineCore.Action?
        var repetition = Repetition.once
        /// What was asked for, of which the interval may allow but a part.
        var asked_ns: Int64 = 0
        /// Ticks that no call has told yet.
        var untold = 0
        /// A timer armed for the past is not late before it was armed.
        var lateFrom_ns = Int64.min
        /// Stays after its last fire: its owner arms it again, by `setOwned`.
        var isOwned = false
        var isInUse = false
    }

    package var schedule: TimerSchedule
    var timers = SlotArray<Timer> { Timer() }
    /// What the clock read when the thread looked last.
    var looked_ns = Int64.min
    /// The timer whose handler runs, or whose call is made up and waits for its deadline, and the thread that does it.
    private(set) var running: (token: TimerToken, thread: pthread_t, deadline_ns: Int64)?
    /// Decides who has a call that waits for its deadline.
    let spin = Spin()
    /// The thread spins up to the deadline of that call, or did, and its handler runs.
    private var isAhead = false
    /// Threads that wait for the running handler to return.
    var whileRunning = WaitList()
    private var isTurning = false
    /// The schedule has nothing more to give back.
    private var isTrimmingTimers = false
    private var hasEnded = false
    /// The process that the engine's thread is in; a child of fork(2) has another.
    private let generation = hrt_fork_generation()
    /// The deadline that was called last since the thread woke.
    private var lastDeadline_ns: Int64?
    private var hasLooked = false
    var statistics = EngineStatistics()

    /// No thread sleeps: the clock may have passed a deadline that was taken back without anybody looking.
    private let isVirtual: Bool

    init(precision: TimerPrecision, isVirtual: Bool) {
        schedule = TimerSchedule(precision: precision)
        self.isVirtual = isVirtual
    }

    private var isInherited: Bool { generation != hrt_fork_generation() }

    package var isShutDown: Bool { hasEnded || isInherited }
}

// What faces and users do.
extension EngineState {
    @inline(__always)
    mutating func add(_ action: consuming EngineCore.Action, _ request: EngineCore.Request) -> TimerToken {
        let token = schedule.add(deadline_ns: request.deadline_ns, asked(request))
        timers.makeRoom(for: token.slot)
        // Field by field: a record moved as a whole takes as long as the arming.
        timers[token.slot].action = consume action
        timers[token.slot].repetition = request.repetition
        timers[token.slot].asked_ns = request.tolerance_ns
        timers[token.slot].untold = 0
        timers[token.slot].isOwned = request.isOwned
        timers[token.slot].isInUse = true
        return token
    }

    /// From so many timers on a wake-up for each costs more than it is worth to those who said nothing of tolerance.
    private static var crowd: Int { 4096 }

    private func asked(_ request: EngineCore.Request) -> TimerSchedule.Asked {
        let precision = max(request.precision ?? .coalesced, schedule.precision)
        var tolerance_ns = request.tolerance_ns
        if request.crowdTolerance_ns > tolerance_ns, !isVirtual, schedule.count > Self.crowd {
            tolerance_ns = request.crowdTolerance_ns
        }
        return TimerSchedule.Asked(
            tolerance_ns: precision == .coalesced ? request.repetition.tolerance_ns(asked: tolerance_ns) : 0,
            isPrecise: precision == .precise && schedule.precision != .precise
        )
    }

    /// Whether the thread must be woken for a deadline that was set just now. `now_ns` is asked for only if it may be past.
    @inline(__always)
    mutating func mustWake(for token: TimerToken, _ deadline_ns: Int64, _ now_ns: @autoclosure () -> Int64) -> Bool {
        if deadline_ns < schedule.sleepsUntil_ns || deadline_ns <= looked_ns || isVirtual {
            let isAwake = schedule.sleepsUntil_ns == .min && !isVirtual
            timers[token.slot].lateFrom_ns = isAwake ? looked_ns : now_ns()
        }
        guard schedule.mustWake(for: token, deadline_ns) else { return false }
        // Too late to break it off is early enough to be seen: the thread looks again after the call.
        if isAhead, !spin.breakOff() { return false }
        statistics.wakesSent += 1
        return true
    }

    /// Arms a timer or moves it, with a new tolerance if one is given. False if the token is stale.
    mutating func arm(_ token: TimerToken, _ deadline_ns: Int64, _ tolerance_ns: Int64?) -> Bool {
        guard !isShutDown, schedule.isLive(token) else { return false }
        if let tolerance_ns {
            timers[token.slot].asked_ns = tolerance_ns
            askForTolerance(token)
        }
        schedule.arm(token, deadline_ns)
        timers[token.slot].untold = 0
        return true
    }

    /// Arms a timer or moves it, with another interval. False if the token is stale.
    mutating func arm(_ token: TimerToken, _ deadline_ns: Int64, every interval: Duration?) -> Bool {
        guard !isShutDown, schedule.isLive(token) else { return false }
        timers[token.slot].repetition = Repetition(every: interval, policy: timers[token.slot].repetition.policy)
        // What the former interval allowed may be longer than this one.
        askForTolerance(token)
        schedule.arm(token, deadline_ns)
        timers[token.slot].untold = 0
        return true
    }

    private mutating func askForTolerance(_ token: TimerToken) {
        guard schedule.precision == .coalesced, !schedule.isPrecise(token) else { return }
        let timer = timers[token.slot]
        schedule.ask(.init(tolerance_ns: timer.repetition.tolerance_ns(asked: timer.asked_ns)), for: token)
    }

    /// The deadline of the timer's next call; while its handler runs, unless that has set another, the one that it was called for.
    /// Nil if the token is stale; `Int64.max` for one that waits for no deadline.
    func deadline_ns(of token: TimerToken) -> Int64? {
        guard !isShutDown, schedule.isLive(token) else { return nil }
        if schedule.isArmed(token) { return schedule.deadline_ns(of: token) }
        if let running, running.token == token, schedule.isUntouchedSinceCall(token) { return running.deadline_ns }
        return schedule.takenDeadline_ns(of: token)
    }

    /// True if the timer's call waited for its deadline: it is called off, and the thread must be woken to see that.
    mutating func callOff(_ token: TimerToken) -> Bool {
        running?.token == token && spin.breakOff()
    }

    struct Cancelled {
        /// The timer was not called for its present deadline, and will not be.
        var wasPending = false
        var mustWake = false
        /// To be let go after the lock: what its handler captured may call back when it is freed.
        var action: EngineCore.Action?
    }

    mutating func cancel(_ token: TimerToken) -> Cancelled {
        guard !isShutDown, schedule.isLive(token) else { return Cancelled() }
        let isCalledOff = callOff(token)
        let hasBegun = running?.token == token && !isCalledOff
        // A repeating timer has another deadline, which is the one that is cancelled.
        let isPending = !hasBegun || timers[token.slot].repetition.repeats || schedule.isArmed(token)
        return Cancelled(wasPending: isPending, mustWake: isCalledOff, action: remove(token))
    }

    private mutating func remove(_ token: TimerToken) -> EngineCore.Action? {
        _ = schedule.remove(token)
        timers[token.slot].isInUse = false
        return timers[token.slot].action.take()
    }

    /// Arms the timer of an owner, or takes its deadline back at `.max`. True if the thread must be woken.
    ///
    /// The owner adds the timer and alone removes it: that its slot is live need not be looked up. Does nothing after the
    /// end of the engine.
    @inline(__always)
    package mutating func setOwned(
        _ token: TimerToken,
        deadline_ns: Int64,
        tolerance_ns: Int64,
        _ now_ns: @autoclosure () -> Int64
    ) -> Bool {
        // Shut down first: there are no records to look into then.
        guard !isShutDown, schedule.precision != .coalesced || tolerance_ns <= 0 && schedule.isPlain(token), !isAhead,
            !isVirtual,
            deadline_ns >= schedule.sleepsUntil_ns, deadline_ns > looked_ns, deadline_ns < .max
        else { return setOwnedRarely(token, deadline_ns, tolerance_ns, now_ns()) }
        schedule.armPlain(token, deadline_ns)
        return false
    }

    /// All of it; apart, for what is rare saves registers that the common case need not.
    @inline(never)
    private mutating func setOwnedRarely(
        _ token: TimerToken,
        _ deadline_ns: Int64,
        _ tolerance_ns: Int64,
        _ now_ns: @autoclosure () -> Int64
    ) -> Bool {
        if isShutDown { return false }
        let isCalledOff = callOff(token)
        if deadline_ns == .max {
            schedule.disarm(token)
            return isCalledOff
        }
        if schedule.precision == .coalesced { schedule.ask(.init(tolerance_ns: tolerance_ns), for: token) }
        schedule.arm(token, deadline_ns)
        return mustWake(for: token, deadline_ns, now_ns()) || isCalledOff
    }

    /// An owner makes a call without the engine's thread.
    package mutating func countFire() {
        statistics.fires += 1
    }

    /// What to wait for until the timer's handler has returned; nil if it does not run, and in the handler itself.
    mutating func joinCall(of token: TimerToken) -> Latch? {
        guard let running, running.token == token, !isCurrent(running.thread), !isInherited else { return nil }
        return whileRunning.join()
    }

    /// How many of the users' own timers wait for a call.
    var pendingTimers: Int {
        mutating get {
            if isShutDown { return 0 }
            var count = 0
            timers.forEach { if $0.isInUse && !$0.isOwned { count += 1 } }
            // A timer whose last call goes on is called, and not dropped.
            if let running, !timers[running.token.slot].isOwned, schedule.isLive(running.token),
                !timers[running.token.slot].repetition.repeats, schedule.isUntouchedSinceCall(running.token), !isAhead
            {
                count -= 1
            }
            return count
        }
    }

    /// Takes all timers out for good, to be let go after the lock.
    mutating func end() -> SlotArray<Timer> {
        hasEnded = true
        _ = spin.breakOff()
        schedule.end()
        var timers = SlotArray { Timer() }
        swap(&timers, &self.timers)
        return timers
    }
}

// What the engine's thread does.
extension EngineState {
    /// The call that the thread makes up, and makes: one at a time, in one place. It is the thread's own, and filled with the lock
    /// held. What it holds at the end is let go after the lock.
    struct Call: ~Copyable {
        fileprivate(set) var due = hrt_due()
        fileprivate(set) var token = TimerToken.stale
        /// Out of the timer's record while it is called, so that nobody counts references for it.
        var action: EngineCore.Action?
        /// What to call of a staged handler.
        var staged: StagedCall?
        /// Ticks beside the one of the call, and how far the timer has come with it.
        fileprivate(set) var missedTicks = 0
        fileprivate var ticks = TickCount(deadline_ns: .max)
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
        call.token = schedule.token(due)
        call.begun_ns = now_ns
        let call_ns = max(now_ns, due.deadline_ns)
        swap(&call.action, &timers[due.token.slot].action)
        let isToBeMade: Bool
        switch call.action {
        case .call, .early: isToBeMade = beginPlain(call_ns, &call)
        case .staged(let owner): isToBeMade = begin(owner, call_ns, &call)
        case nil: return false
        }
        guard isToBeMade else {
            swap(&call.action, &timers[due.token.slot].action)
            return false
        }
        call.lateFrom_ns = max(due.deadline_ns, timers[due.token.slot].lateFrom_ns)
        running = (call.token, pthread_self(), due.deadline_ns)
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
        call.ticks = TickCount(deadline_ns: call.due.deadline_ns, untold: before)
        let told = timers[slot].repetition.begin(&call.ticks, now_ns: call_ns)
        if let told {
            call.missedTicks = told
            statistics.missedTicks += UInt64(clamping: told - before)
            return true
        }
        statistics.missedTicks += UInt64(clamping: call.ticks.untold - before)
        timers[slot].untold = call.ticks.untold
        schedule.endCall(call.token)
        schedule.arm(call.token, call.ticks.deadline_ns)
        return false
    }

    private mutating func begin(_ owner: any StagedHandler, _ call_ns: Int64, _ call: inout Call) -> Bool {
        if let later_ns = owner.laterDeadline() {
            schedule.armPlain(call.token, later_ns)
            return false
        }
        // Nil before: what was called last was let go when it ended.
        call.staged = owner.begin(call_ns, &self)
        guard let missedTicks = call.staged?.missedTicks else { return false }
        call.missedTicks = missedTicks
        statistics.missedTicks += UInt64(missedTicks)
        return true
    }

    /// The call was made and its handler has returned at `now_ns`, or it was called off. True if `finish()` has something to do,
    /// after the lock.
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
        statistics.missedTicks += UInt64(clamping: call.ticks.untold)
        keep(&call, untold: call.ticks.untold)
        schedule.arm(call.token, call.ticks.deadline_ns)
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

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
        /// Stays after its last fire: its owner arms it again, by `setOwned`. In this order the record is one cache line.
        var isOwned = false
        var isInUse = false
        /// See `TickCount.roundedUp_as`.
        var roundedUp_as: UInt32 = 0
        var repetition = Repetition.once
        /// Ticks that no call has told yet.
        var untold = 0
        /// A timer armed for the past is not late before it was armed.
        var lateFrom_ns = Int64.min
        /// What it is armed or called for; its place in the schedule may be later, see `setDeadline`. Nothing for owned timers,
        /// whose owners know.
        var deadline_ns = Int64.max
    }

    package var schedule: TimerSchedule
    var timers = SlotArray<Timer> { Timer() }
    /// Tolerances, by slot, of which an interval allows but a part: they count anew when it changes.
    private var longTolerances: [UInt32: Int64] = [:]
    /// What the clock read when the thread looked last.
    var looked_ns = Int64.min
    /// The timer whose handler runs, or whose call is made up and waits for its deadline, and the thread that does it.
    var running: (token: TimerToken, thread: pthread_t)?
    /// What the owner of the running timer had counted before its call was made up, to be put back if that is called off.
    package var ticksBeforeCall = TickCount(deadline_ns: .max)
    /// Decides who has a call that waits for its deadline.
    let spin = Spin()
    /// The thread spins up to the deadline of that call, or did, and its handler runs.
    var isAhead = false
    /// Threads that wait for the running handler to return.
    var whileRunning = WaitList()
    /// From when the thread finds timers due until it has called them all.
    var isTurning = false
    /// The schedule has nothing more to give back.
    var isTrimmingTimers = false
    private var hasEnded = false
    /// The process that the engine's thread is in; a child of fork(2) has another.
    private let generation = hrt_fork_generation()
    /// The deadline that was called last since the thread woke.
    var lastDeadline_ns: Int64?
    var hasLooked = false
    var statistics = EngineStatistics()
    /// Lateness of calls that were submitted before their deadlines, measured on the threads that they run on; nil before the
    /// first.
    var latenessElsewhere: LatencyHistogram?

    /// No thread sleeps: the clock may have passed a deadline that was taken back without anybody looking.
    private let isVirtual: Bool

    init(precision: TimerPrecision, isVirtual: Bool, now_ns: Int64) {
        schedule = TimerSchedule(precision: precision, now_ns: now_ns)
        self.isVirtual = isVirtual
    }

    private var isInherited: Bool { generation != hrt_fork_generation() }

    package var isShutDown: Bool { hasEnded || isInherited }
}

// What faces and users do.
extension EngineState {
    @inline(__always)
    mutating func add(_ action: consuming EngineCore.Action, _ request: EngineCore.Request) -> TimerToken {
        let isPast = isTurning && request.deadline_ns <= looked_ns
        let token = schedule.add(deadline_ns: isPast ? .max : request.deadline_ns, asked(request))
        timers.makeRoom(for: token.slot)
        // Field by field: a record moved as a whole takes as long as the arming.
        timers[token.slot].action = consume action
        timers[token.slot].repetition = request.repetition
        timers[token.slot].roundedUp_as = 0
        timers[token.slot].untold = 0
        timers[token.slot].isOwned = request.isOwned
        timers[token.slot].isInUse = true
        timers[token.slot].deadline_ns = request.deadline_ns
        if request.tolerance_ns > 0 { keepIfLong(request.tolerance_ns, token) }
        if isPast { schedule.arm(token, request.deadline_ns, place_ns: looked_ns) }
        return token
    }

    /// Arms a timer. While handlers are called, a deadline that the thread has passed already, as that of a burst's next tick,
    /// is queued as if it were the instant of the thread's last look at the clock. So a timer that was due before is called
    /// before, and waits for at most one such call of each other timer, however far that is behind.
    @inline(__always)
    mutating func setDeadline(_ token: TimerToken, _ deadline_ns: Int64, roundedUp_as: UInt32 = 0) {
        timers[token.slot].deadline_ns = deadline_ns
        timers[token.slot].roundedUp_as = roundedUp_as
        if isTurning, deadline_ns <= looked_ns {
            schedule.arm(token, deadline_ns, place_ns: looked_ns)
        } else {
            schedule.arm(token, deadline_ns)
        }
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
        if let tolerance_ns { ask(forTolerance: tolerance_ns, token) }
        setDeadline(token, deadline_ns)
        timers[token.slot].untold = 0
        return true
    }

    /// Arms a timer or moves it, with another interval. False if the token is stale.
    mutating func arm(_ token: TimerToken, _ deadline_ns: Int64, every interval: Duration?) -> Bool {
        guard !isShutDown, schedule.isLive(token) else { return false }
        let asked_ns = longTolerances[token.slot] ?? schedule.tolerance_ns(of: token)
        timers[token.slot].repetition = Repetition(every: interval, policy: timers[token.slot].repetition.policy)
        // What the former interval allowed may be longer than this one.
        ask(forTolerance: asked_ns, token)
        setDeadline(token, deadline_ns)
        timers[token.slot].untold = 0
        return true
    }

    private mutating func ask(forTolerance asked_ns: Int64, _ token: TimerToken) {
        guard schedule.precision == .coalesced, !schedule.isPrecise(token) else { return }
        keepIfLong(asked_ns, token)
        let allowed_ns = timers[token.slot].repetition.tolerance_ns(asked: asked_ns)
        schedule.ask(.init(tolerance_ns: allowed_ns), for: token)
    }

    private mutating func keepIfLong(_ asked_ns: Int64, _ token: TimerToken) {
        if timers[token.slot].repetition.tolerance_ns(asked: asked_ns) < asked_ns {
            longTolerances[token.slot] = asked_ns
        } else if !longTolerances.isEmpty {
            longTolerances[token.slot] = nil
        }
    }

    /// The deadline of the timer's next call; while its handler runs, unless that has set another, the one that it was called
    /// for. Nil if the token is stale; `Int64.max` for one that waits for no deadline.
    func deadline_ns(of token: TimerToken) -> Int64? {
        guard !isShutDown, schedule.isLive(token) else { return nil }
        return timers[token.slot].deadline_ns
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
        // Something earlier may have withdrawn it: that is not begun, either.
        let hasBegun = running?.token == token && (!isAhead || spin.hasBegun)
        // A repeating timer has another deadline, which is the one that is cancelled.
        let isPending = !hasBegun || timers[token.slot].repetition.repeats || schedule.isArmed(token)
        return Cancelled(wasPending: isPending, mustWake: isCalledOff, action: remove(token))
    }

    mutating func remove(_ token: TimerToken) -> EngineCore.Action? {
        _ = schedule.remove(token)
        if !longTolerances.isEmpty { longTolerances[token.slot] = nil }
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
        setDeadline(token, deadline_ns)
        return mustWake(for: token, deadline_ns, now_ns()) || isCalledOff
    }

    /// An owner makes a call without the engine's thread.
    package mutating func countFire() {
        statistics.fires += 1
    }

    /// How late a call was that was submitted before its deadline. Any thread, with the lock held.
    package mutating func recordElsewhere(_ lateness_ns: Int64) {
        let histogram = latenessElsewhere ?? LatencyHistogram()
        histogram.record(lateness_ns)
        latenessElsewhere = histogram
    }

    /// Ticks without a call of their own, as its owner found when the call was made elsewhere.
    package mutating func countMissed(_ ticks: UInt) {
        statistics.missedTicks = statistics.missedTicks.addingReportingOverflow(UInt64(ticks)).partialValue
    }

    /// What to wait for until the timer's handler has returned; nil if it does not run, and in the handler itself.
    mutating func joinCall(of token: TimerToken) -> Latch? {
        guard let running, running.token == token, !isCurrent(running.thread), !isInherited else { return nil }
        return whileRunning.join()
    }

    /// The running handler is its timer's last one, which is cancelled and dropped no more.
    private var isInLastCall: Bool {
        mutating get {
            guard let running, schedule.isLive(running.token), schedule.isUntouchedSinceCall(running.token)
            else { return false }
            if timers[running.token.slot].isOwned || timers[running.token.slot].repetition.repeats { return false }
            return !isAhead || spin.hasBegun
        }
    }

    var liveTimers: Int {
        mutating get { isShutDown ? 0 : schedule.count - (isInLastCall ? 1 : 0) }
    }

    /// How many of the users' own timers wait for a call.
    var pendingTimers: Int {
        mutating get {
            if isShutDown { return 0 }
            var count = isInLastCall ? -1 : 0
            timers.forEach { if $0.isInUse && !$0.isOwned { count += 1 } }
            return count
        }
    }

    /// Takes all timers out for good, to be let go after the lock.
    mutating func end() -> SlotArray<Timer> {
        hasEnded = true
        _ = spin.breakOff()
        schedule.end()
        longTolerances = [:]
        var timers = SlotArray { Timer() }
        swap(&timers, &self.timers)
        return timers
    }
}

import CHRTimer
import HRTimerCore

/// A call of a timer that has begun: its policy has decided, and its deadline stays what it is until `finish`.
///
/// A struct, since a function by itself is wrapped, and the wrapping allocated, when it passes through what is generic.
struct TimerCall: Sendable {
    let timer: LoopTimer
    let handler: LoopTimer.Handler
    let token: TimerToken
    /// Of a call that was begun before its deadline.
    var prelude: CallPrelude?
}

/// A call that was begun before its deadline.
struct PreparedCall: Sendable {
    let token: TimerToken
    let deadline_ns: Int64
    /// Those that it tells.
    var toldTicks = 0
    /// What its timer's counts were.
    let missedTicks: Int
    let lastFired_ns: Int64?
    let ticks: GridPosition
}

/// What is left of a timer when the loop lets go of it: freed after the lock, since what a handler captured may call back.
struct ReleasedTimer {
    var timer: LoopTimer?
    var handler: LoopTimer.Handler?
    var prelude: CallPrelude?
    var extras: LoopTimer.Extras?
}

// What is due, and its calls.
extension LoopState {
    /// Moves what is due at `now_ns` to the overdue timers.
    @inline(__always)
    mutating func collectDue(now_ns: Int64) {
        if schedule.hasDue(at: now_ns) { takeDue(now_ns) }
    }

    private static var takenTogether: Int { 16 }

    /// Some at a time: the records of all are asked for before the first is read, so that their misses of the cache come
    /// together.
    private mutating func takeDue(_ now_ns: Int64) {
        schedule.beginTurn()
        withUnsafeTemporaryAllocation(of: TimerToken.self, capacity: Self.takenTogether) { taken in
            while true {
                let count = takeSome(now_ns, taken)
                for token in taken[..<count] {
                    records[token.slot].phase = .overdue
                    overdue.insert(entry(token), records[token.slot].modes)
                }
                if count < taken.count { return }
            }
        }
    }

    /// Fewer than there is room for if nothing more is due.
    private mutating func takeSome(_ now_ns: Int64, _ taken: UnsafeMutableBufferPointer<TimerToken>) -> Int {
        var count = 0
        while count < taken.count {
            switch schedule.next(now_ns: now_ns) {
            case .due(let due):
                taken.initializeElement(at: count, to: schedule.token(due))
                records.fetch(due.token.slot)
                count += 1
            case .more: continue
            case .none: return count
            }
        }
        return count
    }

    /// Begins a pass of the innermost run: it fires what is due now, of the timers that are in the mode when their turn comes,
    /// and nothing that is armed during it.
    mutating func beginPass(now_ns: Int64) {
        collectDue(now_ns: now_ns)
        if !runs.isEmpty { runs[runs.count - 1].limit = .init(now_ns: now_ns, arming: armings) }
        account.beginPass()
    }

    /// Whether a timer that the running mode serves is due, in the overdue ones.
    func hasOverdue(at now_ns: Int64) -> Bool {
        overdue.first(served, modes).map { $0.deadline_ns <= now_ns } ?? false
    }

    /// The deadline of the earliest overdue timer of the running mode: one that has passed, or that a precise wait took.
    var overdueDeadline_ns: Int64 { overdue.first(served, modes)?.deadline_ns ?? .max }

    /// Begins the next call of the pass. Ticks that the policy leaves out are gone when this returns.
    @inline(__always)
    mutating func nextCall(now_ns: Int64) -> TimerCall? {
        guard let run = runs.last else { return nil }
        let (index, limit) = (run.index, run.limit)
        while let token = overdue.popFirst(index, within: limit, modes) {
            records[token.slot].phase = .out
            fetchNext()
            if let call = begin(token, now_ns: now_ns) {
                account.count(call.timer.state.deadline_ns, call.timer.state.missedTicks, now_ns: now_ns)
                return call
            }
        }
        return nil
    }

    /// The next timer's memory is fetched while this one is called: among a thousand due timers each lies in other lines of the
    /// cache, and to wait for them took a quarter of a fire (`bench ops --operation fire`).
    @inline(__always)
    private func fetchNext() {
        let next = overdue.likelyNext
        guard next.generation != 0 else { return }
        // Its address alone: to look into it is what this spares.
        hrt_prefetch(unsafeBitCast(records[next.slot].timer, to: UnsafeRawPointer?.self), LoopTimer.callBytes)
    }

    private mutating func begin(_ token: TimerToken, now_ns: Int64) -> TimerCall? {
        guard let timer = records[token.slot].timer else { return nil }
        guard let handler = timer.state.beginCall(now_ns: now_ns) else {
            arm(token, timer.state.deadline_ns, timer.state.asked)
            return nil
        }
        timer.state.prelude?.called_ns = now_ns
        return TimerCall(timer: timer, handler: handler, token: token)
    }

    /// Takes out of the schedule what will be due at `deadline_ns`, and begins the pass and its first call, while there is time
    /// for it.
    mutating func prepareCall(at deadline_ns: Int64, isBegun: Bool) -> TimerCall? {
        collectDue(now_ns: deadline_ns)
        let limit = OverdueTimers.Limit(now_ns: deadline_ns, arming: armings)
        // A tick that is late already might be left out: its turn comes in the ordinary way.
        guard isBegun, overdueDeadline_ns == deadline_ns,
            let token = overdue.popFirst(served, within: limit, modes), let timer = records[token.slot].timer
        else { return nil }
        records[token.slot].phase = .out
        let (missedTicks, lastFired_ns, ticks) = (
            timer.state.missedTicks, timer.state.lastFired_ns, timer.state.ticks
        )
        guard var call = begin(token, now_ns: deadline_ns) else { return nil }
        call.prelude = timer.state.prelude
        prepared = PreparedCall(
            token: token,
            deadline_ns: deadline_ns,
            toldTicks: timer.state.missedTicks,
            missedTicks: missedTicks,
            lastFired_ns: lastFired_ns,
            ticks: ticks
        )
        account.beginPass(withPrepared: deadline_ns, timer.state.missedTicks)
        if !runs.isEmpty { runs[runs.count - 1].limit = limit }
        return call
    }

    /// The prepared call's deadline has come. False if it was called off.
    @inline(__always)
    mutating func confirmPrepared(now_ns: Int64) -> Bool {
        guard let deadline_ns = prepared?.deadline_ns else { return false }
        prepared = nil
        account.owe(now_ns.subtractingSaturating(deadline_ns))
        return true
    }

    /// Puts the timer of the prepared call back among the overdue ones, as if there had been no call. True if there was one:
    /// then the thread, which spins, must be woken.
    @inline(__always)
    mutating func callOffPrepared() -> Bool {
        guard let prepared else { return false }
        callOff(prepared)
        return true
    }

    /// The same if it is this timer's.
    @inline(__always)
    mutating func callOffPrepared(_ token: TimerToken) -> Bool {
        prepared?.token == token ? callOffPrepared() : false
    }

    @inline(never)
    private mutating func callOff(_ call: PreparedCall) {
        prepared = nil
        account.takeBackPrepared(call.toldTicks)
        guard schedule.isLive(call.token) else { return }
        records[call.token.slot].timer?.state.callOff(call)
        records[call.token.slot].phase = .overdue
        overdue.insert(entry(call.token), records[call.token.slot].modes)
    }

    /// Where a timer is when its call has ended.
    enum AfterCall {
        case armed
        /// It does not repeat, and is out of the loop.
        case ended
        /// Its handler took it out of the loop, and perhaps put it into another.
        case elsewhere
    }

    /// After the call: arms the timer for its next deadline.
    @inline(__always)
    mutating func finish(
        _ token: TimerToken,
        _ timer: LoopTimer,
        now_ns: Int64,
        _ released: inout ReleasedTimer
    ) -> AfterCall {
        account.settle()
        guard schedule.isLive(token) else { return .elsewhere }
        if timer.state.endCall(now_ns: now_ns) {
            arm(token, timer.state.deadline_ns, timer.state.asked)
            return .armed
        }
        timer.state.takeReferences(&released)
        removeTimer(token, &released.timer)
        return .ended
    }
}

#if os(Linux)
import HRTimerCore

// The calls of a pass.
extension LoopState {
    /// Begins a pass of the innermost run: it fires what is due now, of the timers that are in the mode when the pass
    /// gets to them, and nothing that is armed during it.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    mutating func beginPass(now_ns: Int64) {
        setLimit(core.passLimit(now_ns: now_ns))
        core.account.beginPass()
    }

    private mutating func setLimit(_ limit: PassLimit) {
        if !runs.isEmpty { runs[runs.count - 1].limit = limit }
    }

    /// Prepares the next call of the pass; false if there is none. Ticks that the policy leaves out are gone when this returns.
    @inline(__always)
    mutating func prepareNext(now_ns: Int64, _ fire: inout Fire) -> Bool {
        if runs.isEmpty { return false }
        // Not the whole run, with the name of its mode.
        return core.prepareNext(now_ns, within: runs[runs.count - 1].limit, &fire)
    }

    /// Dequeues the timers that expire by `deadline_ns`, and prepares the pass and its first call, while there is time
    /// for it. False if that is not `wanted`, or if something is to be called before.
    #if compiler(>=6.3)
    @section("hrt_hot_precise")
    #endif
    mutating func prepareAhead(of deadline_ns: Int64, isWanted: Bool, _ fire: inout Fire) -> Bool {
        core.expireAll(upTo: deadline_ns)
        guard isWanted else { return false }
        let limit = core.passLimit(now_ns: deadline_ns)
        guard core.prepareAhead(of: deadline_ns, within: limit, &fire) else { return false }
        setLimit(limit)
        return true
    }

    /// A call has returned, or was withdrawn.
    @inline(__always)
    mutating func finish(_ fire: inout Fire, now_ns: Int64, wasCalled: Bool) -> AfterCall {
        if fire.isAhead, wasCalled { core.account.countWakeup(isSpurious: false) }
        let isUnfinished = core.finish(&fire, now_ns, wasCalled: wasCalled, spun_ns: 0)
        if !fire.isTimerLive { return .elsewhere }
        guard fire.removesTimer else { return isUnfinished ? .unfinished : .armed }
        forgetMember(fire.token, core.group(of: fire.token))
        return .ended
    }

    /// A thread that changes a timer withdraws its callback first, as if there had been no call. True if one was
    /// prepared: then the loop's thread, which spins, must be woken. `state` is the timer's.
    @inline(__always)
    mutating func withdraw(_ token: TimerToken, _ state: inout LoopTimer.State) -> Bool {
        core.isPrepared(token) && withdrawPrepared(token, &state)
    }

    @inline(never)
    private mutating func withdrawPrepared(_ token: TimerToken, _ state: inout LoopTimer.State) -> Bool {
        let isWithdrawn = core.withdraw(token)
        if core.takeWithdrawn(token) { state.restore(core.before) }
        return isWithdrawn
    }

    /// Where a timer is when its call has ended.
    enum AfterCall {
        case armed
        /// The same, and something is left to be freed.
        case unfinished
        /// It does not repeat, and is out of the loop.
        case ended
        /// Its handler took it out of the loop, and perhaps put it into another.
        case elsewhere
    }
}

extension Fire {
    /// A loop's timer that has left it; a loop has no others.
    mutating func takeTimer() -> LoopTimer? { takeOwner().map { unsafeDowncast($0, to: LoopTimer.self) } }
}
#endif

// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

// The calls of a pass.
extension LoopState {
    /// Begins a pass of the innermost run. The pass fires the timers that are due now, if they are in the mode when the pass
    /// gets to them, and nothing that is armed during the pass.
    mutating func beginPass(now_ns: Int64) {
        setLimit(core.passLimit(now_ns: now_ns))
        core.account.beginPass()
    }

    /// Prepares the next call of the pass. Returns false if there is none. Skips ticks that the policy leaves out.
    mutating func prepareNext(now_ns: Int64, _ fire: inout Fire) -> Bool {
        guard run != nil else { return false }
        return core.prepareNext(now_ns, within: run!.limit, &fire)
    }

    /// Dequeues the timers that expire by `deadline_ns`. Then prepares the pass and its first call, while there is time before
    /// the deadline. Returns false if `isWanted` is false, or if something else is to be called before.
    mutating func prepareBefore(_ deadline_ns: Int64, isWanted: Bool, _ fire: inout Fire) -> Bool {
        core.expireAll(upTo: deadline_ns)
        guard isWanted else { return false }
        let limit = core.passLimit(now_ns: deadline_ns)
        guard core.prepareBefore(deadline_ns, within: limit, &fire) else { return false }
        setLimit(limit)
        return true
    }

    /// Ends a call that has returned, or that was withdrawn.
    mutating func finish(_ fire: inout Fire, now_ns: Int64, wasCalled: Bool) -> AfterCall {
        if fire.isBeforeDeadline, wasCalled { core.account.countWakeup(isSpurious: false) }
        // Read before, since a timer that fires for the last time is removed with its record.
        let set = core.isLive(fire.token) ? core.group(of: fire.token) : nil
        let isUnfinished = core.finish(&fire, now_ns, wasCalled: wasCalled, spun_ns: 0)
        guard let set else { return .elsewhere }
        guard fire.removesTimer else { return isUnfinished ? .unfinished : .armed }
        forgetMember(fire.token, set)
        return .ended
    }

    /// Withdraws the prepared callback of a timer, whose state is `state`, so that there is no call. A thread that changes a
    /// timer must call this first. Returns true if a callback was prepared: the caller must then wake the spinning thread.
    mutating func withdraw(_ token: TimerToken, _ state: inout LoopTimer.State) -> Bool {
        guard core.isPrepared(token) else { return false }
        let isWithdrawn = core.withdraw(token)
        // Another thread may have withdrawn it before.
        if core.commit.isWithdrawn { state.call = nil }
        return isWithdrawn
    }

    /// Where a timer is after its call.
    enum AfterCall {
        case armed
        /// Armed, and something remains to be freed.
        case unfinished
        /// The timer does not repeat, and is out of the loop.
        case ended
        /// The timer was taken out of the loop during the call, and is perhaps in another one.
        case elsewhere
    }
}

/// An owner whose timer is in a loop: a loop's timer, or a display link.
protocol LoopOwner: TimerOwner {
    /// Ends a call that a loop has made of an owner whose timer is no longer in that loop, or that is in another one by now.
    /// Called without a lock, on the loop's thread.
    func endCallElsewhere(by core: LoopCore, for deadline_ns: Int64, now_ns: Int64)
}
#endif

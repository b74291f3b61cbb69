// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

/// One call of a handler, from preparation to end. The core fills it in under its lock; the driver's thread owns it, reuses the
/// same value for every call, and releases what it still holds after unlocking.
package struct Fire: ~Copyable {
    /// Its place in the order of due timers; later than the deadline if the timer was armed for the past.
    package internal(set) var place_ns = Int64.max
    var sequence: UInt64 = 0
    package internal(set) var token = TimerToken.stale
    /// Whether it was prepared before its deadline, until which the thread spins.
    package var isBeforeDeadline = false
    /// Whether the core does not wait for the deadline: the thread that gets the submitted call waits, and records the
    /// lateness.
    package var isEarly = false
    /// Whether what is called only submits a call to another thread. Set by the owner.
    package var isSubmission = false
    /// Whether the timer still existed when the call had ended.
    package internal(set) var isTimerLive = false
    /// Whether the timer is removed and fires no more. Set by the owner.
    package var removesTimer = false
    var hasCoreEnded = false
    /// The deadline that it is called for.
    package internal(set) var deadline_ns = Int64.max
    /// The instant from which it counts as late: its deadline, unless the timer was armed later.
    var lateFrom_ns = Int64.min
    /// The clock's reading when it was prepared.
    package internal(set) var begun_ns = Int64.min
    /// The clock's reading right before the call.
    package internal(set) var called_ns = Int64.min
    /// What is called. A reference of the call's own: another thread may remove the timer meanwhile.
    var target: TimerTarget?
    /// What an owner's timer calls, one of the two: a function that takes the owner, or a block. Nil once it was called.
    package var function: OwnerFunction?
    package var callback: Callback?
    /// Ticks beside the one of the call, and how many of them nobody had counted before.
    package var missedTicks = 0
    var newlyMissed = 0
    /// The number of ticks that the policy left out, with this one, so that nothing is called; set by an owner whose `prepare`
    /// returns false. The fire passes the driver nevertheless, for those who watch: with no target, and a callback of the owner's.
    package var leftOut = 0
    /// How much later than its deadline it may be on purpose, to share a wake-up.
    var tolerance_ns: Int64 = 0
    /// The call inside which a nested run of a loop makes this one, on the same thread.
    var outer: FiringCore.Call?
    /// What an owner leaves to be done, and to be freed, after unlocking.
    package var block: Callback?
    package var released = Released()
    var waiters: Latch?
    package init() {}

    /// Returns how late it is if it is called at `called_ns`. A timer armed for the past is not late before it was armed, maybe
    /// by another thread after this one read the clock.
    func lateness_ns(_ called_ns: Int64) -> Int64 {
        if lateFrom_ns > deadline_ns { return max(0, called_ns.subtractingSaturating(lateFrom_ns)) }
        return called_ns.subtractingSaturating(deadline_ns)
    }

    /// Returns the fire as its handler sees it.
    func described(_ called_ns: Int64) -> TimerFire {
        TimerFire(token: token, deadline_ns: deadline_ns, firedAt_ns: called_ns, missedTicks: missedTicks)
    }

    /// The timer's owner; nil for a handler's timer.
    package var owner: (any TimerOwner)? {
        switch target {
        case .owner(let owner): owner
        default: nil
        }
    }

    /// Takes the owner of a timer that the core no longer has.
    package mutating func takeOwner() -> (any TimerOwner)? {
        switch target.take() {
        case .owner(let owner): owner
        default: nil
        }
    }

    var isUnfinished: Bool {
        target != nil || removesTimer || block != nil || waiters != nil || function != nil || callback != nil
    }

    /// Does what is left to do after unlocking.
    package mutating func letGo() {
        function = nil
        callback = nil
        if block != nil { block.take()?.run() }
        if hasCoreEnded { owner?.coreHasEnded() }
        target = nil
        if removesTimer {
            removesTimer = false
            released = Released()
        }
        // What the handler captured is freed before the threads that wait for its end go on.
        waiters.take()?.open()
    }
}
#endif

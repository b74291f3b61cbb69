import CHRTimer
import Glibc

/// A call that the thread prepares, makes and finishes: one at a time, in one place. It is the thread's own, and filled
/// with the core's lock held. What it holds at the end is let go after the lock.
package struct Fire: ~Copyable {
    /// Its place in the order of due timers; later than the deadline if the timer was armed for the past.
    package internal(set) var place_ns = Int64.max
    var sequence: UInt64 = 0
    package internal(set) var token = TimerToken.stale
    /// What it is called for.
    package internal(set) var deadline_ns = Int64.max
    /// Out of the timer's record while it is called, so that nobody counts references for it.
    var target: TimerTarget?
    /// What an owner has to call.
    var call = PreparedCall()
    /// Ticks beside the one of the call, and how far the timer has come with it.
    package internal(set) var missedTicks = 0
    var ticks = GridPosition(deadline_ns: .max)
    /// From when on it counts as late: its deadline, unless it was armed later.
    var lateFrom_ns = Int64.min
    /// What the clock read when it was prepared.
    package internal(set) var begun_ns = Int64.min
    /// What the clock read right before the call.
    package private(set) var called_ns = Int64.min
    /// The timer whose handler runs this one's thread, in a nested run of a loop.
    var outer: (token: TimerToken, thread: pthread_t)?
    /// What is left to do after the lock.
    var end = FireEnd()
    var waiters: Latch?
    var hasCoreEnded = false

    package init() {}

    /// Prepared before its deadline, which the thread spins up to.
    package var isAhead: Bool { place_ns > begun_ns }

    /// The core does not wait for the deadline: the thread that the call was submitted to does, and records the lateness.
    package internal(set) var isEarly = false

    /// How late it is if it is called at `called_ns`. A timer armed for the past is not late before it was armed, maybe
    /// by another thread after this one looked at the clock.
    func lateness_ns(_ called_ns: Int64) -> Int64 {
        if lateFrom_ns > deadline_ns { return max(0, called_ns.subtractingSaturating(lateFrom_ns)) }
        return called_ns.subtractingSaturating(deadline_ns)
    }

    /// As its handler sees it.
    func described(_ called_ns: Int64) -> TimerFire {
        TimerFire(token: token, deadline_ns: deadline_ns, firedAt_ns: called_ns, missedTicks: missedTicks)
    }

    /// The owner, if it has one.
    package var owner: (any TimerOwner)? {
        if case .owner(let owner) = target { return owner }
        return nil
    }

    /// Calls the handler, the clock having read `now_ns`. Without the lock.
    package mutating func deliver(_ now_ns: Int64) {
        called_ns = now_ns
        // Moved, to a place that nobody else changes, so that no reference is counted.
        let target = self.target.take()
        switch target {
        case .handler(let handler), .early(let handler): handler(described(now_ns))
        case .owner(let owner):
            // Let go at once: its owner may have another handler by now.
            switch call.callee.take() {
            case .function(let function): function.call(owner)
            case .callback(let callback): callback.run()
            case nil: break
            }
        case nil: break
        }
        self.target = consume target
    }

    /// What the prepared call has beside its callee.
    package var companion: AnyObject? { call.companion }

    /// Its timer was removed when the call had ended.
    package var hasRemovedTimer: Bool { end.removesTimer }

    package var isUnfinished: Bool { target != nil || call.callee != nil || waiters != nil || end.isToBeDone }

    /// What is left to do after the lock.
    @inline(never)
    package mutating func letGo() {
        if end.block != nil { end.block.take()?.run() }
        let target = self.target.take()
        if hasCoreEnded, case .owner(let owner) = target { owner.coreHasEnded() }
        call.callee = nil
        call.companion = nil
        if end.removesTimer { end.released = Released() }
        end.removesTimer = false
        _ = consume target
        // What the handler captured is free before the threads that wait for its end go on.
        waiters.take()?.open()
    }
}

extension FireEnd {
    var isToBeDone: Bool { block != nil || removesTimer }
}

#if os(Linux)
import CHRTimer
import HRTimerLibc

/// Sets what is nil, so that nothing is let go: a fire does that four times, and to find nothing there is a function apart each
/// time.
@inlinable @inline(__always)
package func fill<Value: ~Copyable>(_ place: inout Value?, _ value: consuming Value?) {
    assert(place == nil, "what is there would never be let go")
    withUnsafeMutablePointer(to: &place) { $0.initialize(to: value.take()) }
}

/// A call that the thread prepares, makes and finishes: one at a time, in one place. It is the thread's own, and filled
/// with the core's lock held. What it holds at the end is let go after the lock.
///
/// Other modules look at stored properties alone: for a computed one all of it is copied first.
package struct Fire: ~Copyable {
    /// Its place in the order of due timers; later than the deadline if the timer was armed for the past.
    package internal(set) var place_ns = Int64.max
    var sequence: UInt64 = 0
    package internal(set) var token = TimerToken.stale
    /// Prepared before its deadline, which the thread spins up to.
    package var isAhead = false
    /// The core does not wait for the deadline: the thread that the call was submitted to does, and records the lateness.
    package var isEarly = false
    /// The timer was there still when the call had ended.
    package internal(set) var isTimerLive = false
    /// Set by the owner: its timer is removed, and fires no more.
    package var removesTimer = false
    var hasCoreEnded = false
    /// What it is called for.
    package internal(set) var deadline_ns = Int64.max
    /// From when on it counts as late: its deadline, unless it was armed later.
    var lateFrom_ns = Int64.min
    /// What the clock read when it was prepared.
    package internal(set) var begun_ns = Int64.min
    /// What the clock read right before the call.
    package internal(set) var called_ns = Int64.min
    /// Out of the timer's record while it is called, so that nobody counts references for it.
    var target: TimerTarget?
    /// What an owner has to call, one of the two: a function called with the owner, or a block. Nil once it is called.
    package var function: OwnerFunction?
    package var callback: Callback?
    /// Ticks beside the one of the call, and how far the timer has come with it.
    package var missedTicks = 0
    var ticks = GridPosition(deadline_ns: .max)
    /// What is in those ticks of it; an owner keeps its own.
    var jitter: TickJitter?
    /// The timer whose handler runs this one's thread, in a nested run of a loop.
    var outer: (token: TimerToken, thread: UnsafeRawPointer)?
    /// What an owner leaves to be done, and to be freed, when the lock is let go.
    package var block: Callback?
    package var released = Released()
    var waiters: Latch?
    private let byAddress = PassedByAddress()

    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    package init() {}

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

    /// Whose timer it is; nil for a handler's.
    package var owner: (any TimerOwner)? {
        switch target {
        case .owner(let owner): owner
        default: nil
        }
    }

    /// The owner of a timer that the core has no more.
    package mutating func takeOwner() -> (any TimerOwner)? {
        switch target.take() {
        case .owner(let owner): owner
        default: nil
        }
    }

    var isUnfinished: Bool {
        target != nil || removesTimer || block != nil || waiters != nil || function != nil || callback != nil
    }

    /// What is left to do after the lock.
    @inline(never)
    package mutating func letGo() {
        if block != nil { block.take()?.run() }
        let target = self.target.take()
        if hasCoreEnded {
            switch target {
            case .owner(let owner): owner.coreHasEnded()
            default: break
            }
        }
        function = nil
        callback = nil
        if removesTimer {
            removesTimer = false
            released = Released()
        }
        _ = consume target
        // What the handler captured is free before the threads that wait for its end go on.
        waiters.take()?.open()
    }
}
#endif

#if os(Linux)
import CHRTimer
import HRTimerLibc

/// Moves a value into a place that is known to hold nil.
@inlinable @inline(__always)
package func fill<Value: ~Copyable>(_ place: inout Value?, _ value: consuming Value?) {
    assert(place == nil, "what is there would never be let go")
    place = value.take()
}

/// Moves out the value that is in a place, and leaves nil there. `Optional.take()` copies a value that is copyable and releases
/// the original, which counts its references twice; and an optional is released by code elsewhere, which is a page more.
@inlinable @inline(__always)
package func moveOut<Value>(_ place: inout Value?) -> Value {
    assert(place != nil, "there is nothing to move out")
    return withUnsafeMutablePointer(to: &place) {
        // Unsafe: an optional that is not nil begins with its value (Swift's ABI, "Enum Layout").
        let value = UnsafeMutableRawPointer($0).assumingMemoryBound(to: Value.self).move()
        $0.initialize(to: nil)
        return value
    }
}

/// Copies the function in a place to a place that holds nil, without counting a reference. The function must stay where it is
/// until `giveBack(_:)`. Code that frees it earlier calls `keepLent(_:)` first.
@inlinable @inline(__always)
package func lend<Function>(_ place: inout Function?, to borrower: inout Function?) {
    assert(borrower == nil, "what is there would never be let go")
    withUnsafeMutablePointer(to: &place) { lender in
        withUnsafeMutablePointer(to: &borrower) {
            // Unsafe: the copy is one reference more than is counted. So it must not be released.
            UnsafeMutableRawPointer($0).copyMemory(from: lender, byteCount: MemoryLayout<Function?>.size)
        }
    }
}

/// Leaves nil in a place to which a function was lent, without releasing that.
@inlinable @inline(__always)
package func giveBack<Function>(_ borrower: inout Function?) {
    withUnsafeMutablePointer(to: &borrower) { place in
        // Unsafe: what is there is a reference that nobody counted. So it must not be released.
        withUnsafePointer(to: Function?.none) {
            UnsafeMutableRawPointer(place).copyMemory(from: $0, byteCount: MemoryLayout<Function?>.size)
        }
    }
}

/// Counts the reference of the place to which a function was lent, which must release it from now on.
@inline(never)
package func keepLent<Function>(_ function: Function?) {
    // Never deinitialized: what is left is the reference.
    withUnsafeTemporaryAllocation(of: Function?.self, capacity: 1) { $0.initializeElement(at: 0, to: function) }
}

/// One call of a handler, from preparation to end. The core fills it in under its lock; the driver's thread owns it, reuses the
/// same value for every call, and releases what it still holds after unlocking.
///
/// Other modules read only stored properties: reading a computed one copies the whole value first.
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
    /// Moved out of the timer's record for the call, so that no reference is counted.
    var target: TimerTarget?
    /// What an owner's timer calls, one of the two: a function that takes the owner, or a block. Nil once it was called, unless
    /// it is lent.
    package var function: OwnerFunction?
    package var callback: Callback?
    /// Whether the owner has lent the function or the block, and takes it back when the call has ended.
    package var isLent = false
    /// Ticks beside the one of the call, and how far the timer has come on its grid with the call.
    package var missedTicks = 0
    /// The number of ticks that the policy left out, with this one, so that there is no call. Set by an owner that makes none.
    package var leftOut = 0
    var ticks = GridPosition(deadline_ns: .max)
    /// The jitter that is in those ticks; an owner keeps its own.
    var jitter: TickJitter?
    /// The call inside which a nested run of a loop makes this one, on the same thread.
    var outer: (token: TimerToken, thread: UnsafeRawPointer)?
    /// What an owner leaves to be done, and to be freed, after unlocking.
    package var block: Callback?
    package var released = Released()
    var waiters: Latch?
    private let byAddress = PassedByAddress()

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
    @inline(never)
    package mutating func letGo() {
        function = nil
        callback = nil
        if block != nil { block.take()?.run() }
        let target = self.target.take()
        if hasCoreEnded {
            switch target {
            case .owner(let owner): owner.coreHasEnded()
            default: break
            }
        }
        if removesTimer {
            removesTimer = false
            released = Released()
        }
        _ = consume target
        // What the handler captured is freed before the threads that wait for its end go on.
        waiters.take()?.open()
    }
}
#endif

package import CHRTimer

/// The timers of one engine or loop: the C queue, and beside it a record for each timer in the same slot.
///
/// Told the time, never asks it. Not thread-safe: its owner has the lock.
package struct PendingTimers<Record>: ~Copyable {
    private var queue: OpaquePointer
    package var records = Slab<Record>()

    package init() {
        queue = Self.makeQueue()
    }

    deinit {
        hrt_queue_destroy(queue)
    }

    private static func makeQueue() -> OpaquePointer {
        var queue: OpaquePointer?
        requireMemory(hrt_queue_create(&queue))
        return queue!
    }

    /// Running out of memory, or of 2^32 slots, ends the process, as it does everywhere else in Swift.
    @inline(__always)
    private static func requireMemory(_ status: Int32) {
        if status != 0 { failForMemory(status) }
    }

    @inline(never)
    private static func failForMemory(_ status: Int32) -> Never {
        fatalError("no memory for one more timer: \(TimerError(operation: "grow", errorNumber: -status))")
    }

    /// Timers that exist, armed or not.
    package var count: Int { hrt_queue_count(queue) }
    package var armedCount: Int { hrt_queue_armed_count(queue) }

    /// A new timer, not armed.
    package mutating func add(_ record: consuming Record) -> TimerToken {
        var token = hrt_token()
        Self.requireMemory(hrt_queue_add(queue, &token))
        records.insert(record, at: token.slot)
        return TimerToken(token)
    }

    /// A new timer without tolerance, `Int64.max` for one that is not armed yet. Its record is what the slot's last timer left
    /// there by `removeKeepingRecord`, or `vacant`: the owner fills it in, which costs less than to move one.
    @inline(__always)
    package mutating func schedule(deadline_ns: Int64, vacant: @autoclosure () -> Record) -> TimerToken {
        var token = hrt_token()
        if deadline_ns < .max {
            Self.requireMemory(hrt_queue_schedule(queue, deadline_ns, 0, &token))
        } else {
            Self.requireMemory(hrt_queue_add(queue, &token))
        }
        if !records.isInUse(token.slot) { records.insert(vacant(), at: token.slot) }
        return TimerToken(token)
    }

    /// Forgets the timer and leaves its record in the slot, where the owner empties it. False if the token is stale.
    @inline(__always)
    package mutating func removeKeepingRecord(_ token: TimerToken) -> Bool {
        hrt_queue_remove(queue, token.c)
    }

    /// The timer's record, or nil if the token is stale. Let the record go only after the lock: what its handler
    /// captured may call back when it is freed.
    package mutating func remove(_ token: TimerToken) -> Record? {
        hrt_queue_remove(queue, token.c) ? records.remove(at: token.slot) : nil
    }

    /// Forgets all timers and gives their records, to be let go after the lock. Every token is stale from now on, and no
    /// timer may be added any more.
    package mutating func end() -> [Record] {
        hrt_queue_destroy(queue)
        queue = Self.makeQueue()
        return records.removeAll()
    }

    @inline(__always)
    package func isLive(_ token: TimerToken) -> Bool { hrt_queue_is_live(queue, token.c) }

    @inline(__always)
    package func isArmed(_ token: TimerToken) -> Bool { hrt_queue_is_armed(queue, token.c) }

    /// False if the token is stale.
    @discardableResult
    @inline(__always)
    package func arm(_ token: TimerToken, deadline_ns: Int64, tolerance_ns: Int64 = 0) -> Bool {
        hrt_queue_arm(queue, token.c, deadline_ns, tolerance_ns)
    }

    @discardableResult
    @inline(__always)
    package func disarm(_ token: TimerToken) -> Bool { hrt_queue_disarm(queue, token.c) }

    /// For whoever added the timer and alone removes it: it must be live. Without tolerance.
    @inline(__always)
    package func armOwned(_ token: TimerToken, deadline_ns: Int64) {
        hrt_queue_arm_slot(queue, token.slot, deadline_ns)
    }

    package func armOwned(_ token: TimerToken, deadline_ns: Int64, tolerance_ns: Int64) {
        hrt_queue_arm_slot_tolerant(queue, token.slot, deadline_ns, tolerance_ns)
    }

    package func armOwnedPrecise(_ token: TimerToken, deadline_ns: Int64) {
        hrt_queue_arm_slot_precise(queue, token.slot, deadline_ns)
    }

    @inline(__always)
    package func disarmOwned(_ token: TimerToken) {
        _ = hrt_queue_disarm_slot(queue, token.slot)
    }

    /// The earliest armed deadline, or earlier by mistake once; `Int64.max` if nothing is armed.
    @inline(__always)
    package var next_ns: Int64 { hrt_queue_next_ns(queue) }

    /// The latest instant to wake at such that no armed timer comes later than its deadline plus its tolerance.
    package var nextWake_ns: Int64 { hrt_queue_next_wake_ns(queue) }

    /// The earliest deadline armed by `armPrecise`; `Int64.max` if there is none.
    package var nextPrecise_ns: Int64 { hrt_queue_next_precise_ns(queue) }

    /// Makes the three answers above exact, a bounded piece of work a call; true if there is more to do.
    package func settle() -> Bool { hrt_queue_settle(queue) }

    /// The earliest armed deadline, however much work it is to know it.
    package var nextExact_ns: Int64 { hrt_queue_next_exact_ns(queue) }

    /// The number of the latest arming.
    package var lastArming: UInt64 { hrt_queue_last_arming(queue) }

    /// False if the token is stale.
    @discardableResult
    package func armPrecise(_ token: TimerToken, deadline_ns: Int64) -> Bool {
        hrt_queue_arm_precise(queue, token.c, deadline_ns)
    }

    /// Arms a timer again that was just taken, with the place among equal deadlines that it had.
    package func putBack(_ due: hrt_due) {
        withUnsafePointer(to: due) { hrt_queue_put_back(queue, $0) }
    }

    /// Whether `takeDue` should be called again. A deadline that never comes is not due even at the end of time.
    @inline(__always)
    package func hasDue(at now_ns: Int64) -> Bool {
        let next_ns = next_ns
        return next_ns <= now_ns && next_ns < .max
    }

    /// Disarms what is due and writes it to `batch` in order of firing. May give less than all, even nothing, since a call does
    /// a bounded amount of work: ask `hasDue`.
    @inline(__always)
    package func takeDue(now_ns: Int64, into batch: UnsafeMutableBufferPointer<hrt_due>) -> Int {
        hrt_queue_take_due(queue, now_ns, batch.baseAddress, batch.count)
    }
}

// Sendable: it alone owns the memory behind its pointers, and being noncopyable is in one place at a time.
extension PendingTimers: @unchecked Sendable where Record: Sendable {}

#if os(Linux)
public import CHRTimer
import HRTimerLibc
import Synchronization

/// The timers of one engine or loop, and every decision about them: when the thread must be awake, whether a
/// new deadline must wake it, which timers are due in which order, and what follows a call.
///
/// Sans-I/O: the caller passes the time in. The core knows threads by their identity only, and calls no handler. A driver owns
/// the thread, parks it, and owns the lock that guards all of this. Its steps are:
///
///     poll     with the lock: prepares the callback of a `Fire`, or says until when to park, or asks to be called again
///              so that other threads get the lock meanwhile
///     spin     without the lock, if the deadline of the fire is still ahead
///     commit   without the lock: one exchange decides whether the handler is called now, or the call was withdrawn
///     deliver  without the lock: calls the handler
///     finish   with the lock, which the next poll shares: decides what follows, and returns who waits for the end
///
/// While the lock is held no handler is called, and nothing that a user's handler captured is released. The core takes no other
/// lock meanwhile; an owner may take that of another clock's engine, see `ClockAlarm`.
///
/// Usable from inline code, so that a loop, which is in another module, reads it without copying it first.
@usableFromInline package struct FiringCore: ~Copyable {
    /// The precision of its timers, unless one requests a higher precision.
    package var precision: TimerPrecision
    /// The instant until which the thread parks; `.min` while it is awake, when a thread that arms a timer need not wake it.
    package internal(set) var parkedUntil_ns = Int64.min
    var parksPrecisely = false
    @usableFromInline let id: UInt32
    @usableFromInline var queue: OpaquePointer
    @usableFromInline var records = SlotArray<TimerRecord> { TimerRecord() }
    /// Whether some timer has, or had, options beside its deadline. Until then arming reads no record: among a million timers
    /// each read is a miss in the cache and in the TLB (`bench ops --operation re-arm`).
    @usableFromInline var hasOptions = false
    /// Whether some timer has, or had, an owner.
    var hasOwners = false
    /// Whether any timer is expired. While none is, arming need not read a record for the timer's place among the expired ones.
    @usableFromInline var hasExpired: Bool { !expired.isEmpty }
    var expired = ExpiredTimers()
    /// The groups whose timers are fired. Timers of other groups wait among the expired ones.
    package internal(set) var served = NumberSet()
    /// The buffer that the queue fills with due timers. Sendable and unsafe: this value alone owns the memory.
    nonisolated(unsafe) let batch = UnsafeMutableBufferPointer<hrt_due>.allocate(capacity: FiringCore.batchSize)
    static var batchSize: Int { 64 }

    /// The clock's reading at the thread's latest poll, or at what counts as one: see `look(at:)`.
    package internal(set) var looked_ns = Int64.min
    /// The place of the call that is prepared before its deadline; see `lookAgain(_:_:)`.
    var preparedPlace_ns = Int64.min
    /// Whether the thread is firing: from the `poll` that finds timers due until all of them are fired.
    var isFiring = false
    /// Decides whether a prepared callback is called or withdrawn.
    package let commit = FireCommit()
    /// The timer whose callback is prepared, or was since committed or withdrawn; stale if there is none.
    @usableFromInline var prepared = TimerToken.stale
    /// The call that is prepared or under way; where a handler runs its loop, the innermost one.
    var running: Call?
    /// Threads that wait for the running handler to return.
    var waiters = WaitList()

    package var account = FiringAccount()
    /// The ticks that policies left out since somebody last took these; nil unless somebody watches the driver.
    package var leftOut: [LeftOutTick]?
    @usableFromInline var hasEnded = false
    /// Identifies the process that the thread is in; a child of fork(2) has another generation.
    @usableFromInline let generation = hrt_fork_generation()
    /// Whether the queue has nothing more to give back, so that `records` is trimmed next.
    var isTrimmingRecords = false

    /// An ordinary deadline that is less than this before a precise one is waited for precisely too: a late wake-up just before
    /// a precise deadline would make that one late.
    static let preciseNeighbourhood_ns: Int64 = 100_000

    /// `now_ns` is the present time. A queue that was never given the time treats all deadlines as far ones, and would move
    /// each timer three times between its levels before it is due.
    package init(precision: TimerPrecision, now_ns: Int64 = .min) {
        self.precision = precision
        queue = Self.makeQueue()
        id = CoreNumber.next()
        hrt_queue_take_due(queue, now_ns, nil, 0)
        served.insert(0)
    }

    deinit {
        batch.deallocate()
        hrt_queue_destroy(queue)
    }

    private static func makeQueue() -> OpaquePointer {
        var queue: OpaquePointer?
        requireMemory(hrt_queue_create(&queue))
        return queue!
    }

    /// Ends the process if `status` says that memory, or the 2^28 slots, have run out. Swift does the same everywhere else.
    private static func requireMemory(_ status: Int32) {
        if status == 0 { return }
        fatalError("no memory for one more timer: \(TimerError(operation: "grow", errorNumber: -status))")
    }

    @inlinable
    package var isInForkedChild: Bool { generation != hrt_fork_generation() }

    /// Whether the core has ended; true also in a child of fork(2), which lacks the thread. Nothing else may be read there.
    @inlinable
    package var isShutDown: Bool { hasEnded || isInForkedChild }
}

// Sendable: it alone owns the memory behind its pointers and, being noncopyable, it is in one place at a time.
extension FiringCore: @unchecked Sendable {}

/// Numbers the cores, so that no token of one core is valid in another, as long as there are fewer than 2^32 cores.
private enum CoreNumber {
    private static let last = Atomic<UInt32>(0)

    static func next() -> UInt32 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// The targets of the timers that existed when a core ended. They must be released without the lock.
package struct EndedTimers: Sendable {
    package private(set) var owners: [any TimerOwner] = []
    private var handlers: [@Sendable (TimerFire) -> Void] = []

    mutating func append(_ target: TimerTarget?) {
        switch target {
        case .owner(let owner): owners.append(owner)
        case .handler(let handler): handlers.append(handler)
        case nil: break
        }
    }
}

// Adding and removing timers.
extension FiringCore {
    /// The number of timers that exist, armed or not.
    package var count: Int { hrt_queue_count(queue) }

    /// Adds a timer without a target. Arms it unless its deadline is `Int64.max`.
    package mutating func add(deadline_ns: Int64, _ options: TimerOptions = TimerOptions()) -> TimerToken {
        let token = addRecord(armedFor_ns: options.isPlain ? deadline_ns : .max, options)
        if deadline_ns < .max, !options.isPlain { armWithOptions(token.slot, deadline_ns) }
        return token
    }

    /// Adds a timer's record. Fields that are not set here keep what the slot's former timer had in them.
    mutating func addRecord(armedFor_ns deadline_ns: Int64, _ options: TimerOptions) -> TimerToken {
        var token = hrt_token()
        if deadline_ns < .max {
            Self.requireMemory(hrt_queue_schedule(queue, deadline_ns, 0, &token))
        } else {
            Self.requireMemory(hrt_queue_add(queue, &token))
        }
        records.makeRoom(for: token.slot)
        if !options.isPlain { hasOptions = true }
        // Field by field: moving a whole record takes as long as the arming.
        let record = records.place(token.slot)
        record.pointee.phase = .idle
        record.pointee.isPrecise = options.isPrecise
        record.pointee.isEarly = false
        record.pointee.isInCall = false
        record.pointee.tolerance_ns = options.tolerance_ns
        return TimerToken(token, owner: id)
    }

    @inlinable
    package func isLive(_ token: TimerToken) -> Bool {
        token.owner == id && hrt_queue_is_live(queue, token.c)
    }

    /// Removes the timer and returns its group, or nil if the token is stale. Moves its target to `target`, which the caller
    /// releases after unlocking, since what it captured may call back when it is freed.
    package mutating func remove(_ token: TimerToken, _ target: inout TimerTarget?) -> FiringGroup? {
        guard token.owner == id, hrt_queue_remove(queue, token.c) else { return nil }
        leaveExpired(token.slot)
        records[token.slot].schedule.jitter = nil
        records[token.slot].phase = .vacant
        target = records[token.slot].target.take()
        return records[token.slot].group
    }

    /// Removes a timer that has no target; see `remove(_:_:)`. Returns false if the token is stale.
    @discardableResult
    package mutating func remove(_ token: TimerToken) -> Bool {
        var target: TimerTarget?
        return remove(token, &target) != nil
    }

    /// Ends the core and removes all timers: every token is stale from now on, and no timer may be added any more. Returns the
    /// targets, which the caller releases after unlocking.
    package mutating func end() -> EndedTimers {
        hasEnded = true
        _ = commit.withdraw()
        hrt_queue_destroy(queue)
        queue = Self.makeQueue()
        expired.removeAll()
        var ended = EndedTimers()
        // A call that is under way tells its owner by itself, when it has returned.
        records.forEach { if !$0.isInCall { ended.append($0.target.take()) } }
        records = SlotArray { TimerRecord() }
        return ended
    }

    package func isArmed(_ token: TimerToken) -> Bool {
        token.owner == id && hrt_queue_is_armed(queue, token.c)
    }

    /// Calls `body` with the group and target of every timer.
    package mutating func forEachTimer(_ body: (FiringGroup, TimerTarget?) -> Void) {
        records.forEach { if $0.phase != .vacant { body($0.group, $0.target) } }
    }

    /// Sets whether timers of the group are fired.
    package mutating func serve(_ group: FiringGroup, _ isServed: Bool) {
        if served.contains(Int(group)) == isServed { return }
        if isServed { served.insert(Int(group)) } else { served.remove(Int(group)) }
    }

    package func group(of token: TimerToken) -> FiringGroup { records[token.slot].group }

    /// Returns a pointer to a live timer's record, valid until the timer is removed. Must be called with the lock held.
    package func record(of token: TimerToken) -> UnsafeMutablePointer<TimerRecord> { records.place(token.slot) }

    /// Moves a live timer to another group.
    package mutating func setGroup(_ group: FiringGroup, of token: TimerToken) {
        let slot = token.slot
        let isExpired = records[slot].phase == .expired
        if isExpired { expired.remove(entry(token), records[slot].group) }
        records[slot].group = group
        if isExpired { expired.insert(entry(token), group) }
    }
}

// Deadlines. The token must be live: the timer's owner has checked that, or is the only one that removes the timer.
extension FiringCore {
    /// Sets the options that hold from the timer's next arming on.
    package mutating func setOptions(_ options: TimerOptions, for token: TimerToken) {
        if !hasOptions, options.isPlain { return }
        hasOptions = true
        records[token.slot].tolerance_ns = options.tolerance_ns
        records[token.slot].isPrecise = options.isPrecise
    }

    /// Whether the timer has no options beside its deadline.
    package func isPlain(_ slot: UInt32) -> Bool {
        !hasOptions || records[slot].tolerance_ns <= 0 && !records[slot].isPrecise
    }

    /// Arms the timer, or moves it. Among equal deadlines it then comes last.
    package mutating func arm(_ token: TimerToken, _ deadline_ns: Int64) {
        hrt_probe_arm(token.slot, deadline_ns)
        leaveExpired(token.slot)
        if isPlain(token.slot) {
            hrt_queue_arm_slot(queue, token.slot, deadline_ns)
        } else {
            armWithOptions(token.slot, deadline_ns)
        }
    }

    /// Arms the timer for a deadline that has passed. Among other timers it is placed as if its deadline were `place_ns`, which
    /// is not earlier. The end of its tolerance window stays: on virtual time the turn in which it is due may be over before
    /// `place_ns`.
    mutating func arm(_ token: TimerToken, _ deadline_ns: Int64, place_ns: Int64) {
        leaveExpired(token.slot)
        let slot = token.slot
        if isPlain(slot) { return hrt_queue_arm_slot(queue, slot, place_ns) }
        if records[slot].isPrecise { return hrt_queue_arm_slot_precise(queue, slot, place_ns) }
        let tolerance_ns = records[slot].allowedTolerance_ns
        let rest_ns = deadline_ns.addingSaturating(tolerance_ns).subtractingSaturating(place_ns)
        hrt_queue_arm_slot_tolerant(queue, slot, place_ns, rest_ns)
    }

    mutating func armWithOptions(_ slot: UInt32, _ deadline_ns: Int64) {
        if records[slot].isPrecise {
            hrt_queue_arm_slot_precise(queue, slot, deadline_ns)
        } else {
            hrt_queue_arm_slot_tolerant(queue, slot, deadline_ns, records[slot].allowedTolerance_ns)
        }
    }

    package mutating func disarm(_ token: TimerToken) {
        leaveExpired(token.slot)
        _ = hrt_queue_disarm_slot(queue, token.slot)
        records[token.slot].phase = .idle
    }

    /// Whether the timer's callback is prepared or running, and nobody has armed or disarmed the timer since.
    package func isUntouchedSinceCall(_ token: TimerToken) -> Bool {
        guard isLive(token) else { return false }
        let phase = records[token.slot].phase
        return (phase == .firing || phase == .prepared) && !hrt_queue_is_armed_slot(queue, token.slot)
    }
}
#endif

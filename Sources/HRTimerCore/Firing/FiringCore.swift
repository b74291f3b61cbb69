// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import CHRTimer
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
@safe @usableFromInline package struct FiringCore: ~Copyable {
    /// The precision of its timers, unless one requests a higher precision.
    package var precision: TimerPrecision
    /// The instant until which the thread parks; `.min` while it is awake, when a thread that arms a timer need not wake it.
    package internal(set) var parkedUntil_ns = Int64.min
    var parksPrecisely = false
    @usableFromInline let id: UInt32
    @usableFromInline var records = TimerRecords()
    @inlinable var queue: OpaquePointer { unsafe records.queue }
    /// Whether some timer has, or had, an owner.
    var hasOwners = false
    var expired = ExpiredTimers()
    /// The groups whose timers are fired. Timers of other groups wait among the expired ones.
    package internal(set) var served = NumberSet()
    /// The buffer that the queue fills with due timers. Sendable and safe: this value alone owns the memory, and only places that
    /// the queue has filled are read.
    @safe nonisolated(unsafe) let batch = UnsafeMutableBufferPointer<hrt_due>.allocate(capacity: FiringCore.batchSize)
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
    @usableFromInline var hasEnded = false
    /// Identifies the process that the thread is in; a child of fork(2) has another generation.
    @usableFromInline let generation = hrt_fork_generation()

    /// An ordinary deadline that is less than this before a precise one is waited for precisely too: a late wake-up just before
    /// a precise deadline would make that one late.
    static let preciseNeighbourhood_ns: Int64 = 100_000

    /// `now_ns` is the present time. A queue that was never given the time treats all deadlines as far ones, and would move
    /// each timer three times between its levels before it is due.
    package init(precision: TimerPrecision, now_ns: Int64 = .min) {
        self.precision = precision
        id = CoreNumber.next()
        unsafe hrt_queue_take_due(queue, now_ns, nil, 0)
        served.insert(0)
    }

    deinit { unsafe batch.deallocate() }

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
    package var count: Int { unsafe hrt_queue_count(queue) }

    /// Adds a timer. Arms it unless its deadline is `Int64.max`.
    package mutating func add(_ target: TimerTarget, _ request: TimerRequest) -> TimerToken {
        let options = options(request)
        var record = TimerRecord()
        record.target = target
        record.schedule = request.schedule
        record.isOwned = request.isOwned
        record.isEarly = request.isEarly
        record.group = request.group
        record.tolerance_ns = options.tolerance_ns
        record.isPrecise = options.isPrecise
        let token = TimerToken(records.add(record), owner: id)
        if request.isOwned { hasOwners = true }
        if request.deadline_ns < .max { place(token, records[token.slot].schedule.deadline_ns) }
        return token
    }

    @inlinable
    package func isLive(_ token: TimerToken) -> Bool {
        unsafe token.owner == id && hrt_queue_is_live(queue, token.c)
    }

    /// Removes the timer and returns its group, or nil if the token is stale. Moves its target to `target`, which the caller
    /// releases after unlocking, since what it captured may call back when it is freed.
    package mutating func remove(_ token: TimerToken, _ target: inout TimerTarget?) -> FiringGroup? {
        guard isLive(token) else { return nil }
        leaveExpired(token.slot)
        let group = records[token.slot].group
        target = records.remove(token.c)
        return group
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
        expired.removeAll()
        var ended = EndedTimers()
        // A call that is under way tells its owner by itself, when it has returned.
        records.forEachSlot { _, record in if !record.isInCall { ended.append(record.target.take()) } }
        records = TimerRecords()
        return ended
    }

    package func isArmed(_ token: TimerToken) -> Bool {
        unsafe token.owner == id && hrt_queue_is_armed(queue, token.c)
    }

    /// Calls `body` with the group and target of every timer.
    package mutating func forEachTimer(_ body: (FiringGroup, TimerTarget?) -> Void) {
        records.forEachSlot { body($1.group, $1.target) }
    }

    /// Sets whether timers of the group are fired.
    package mutating func serve(_ group: FiringGroup, _ isServed: Bool) {
        if served.contains(Int(group)) == isServed { return }
        if isServed { served.insert(Int(group)) } else { served.remove(Int(group)) }
    }

    package func group(of token: TimerToken) -> FiringGroup { records[token.slot].group }

    /// Returns a pointer to a live timer's record, valid until the timer is removed. Must be called with the lock held.
    @safe package func record(of token: TimerToken) -> UnsafeMutablePointer<TimerRecord> { records.place(token.slot) }

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
        records[token.slot].tolerance_ns = options.tolerance_ns
        records[token.slot].isPrecise = options.isPrecise
    }

    /// Sets the position of a user's timer on its grid, and arms the timer for the call that follows from it.
    mutating func setPosition(_ position: GridPosition, _ token: TimerToken) {
        records[token.slot].schedule.position = position
        place(token, records[token.slot].schedule.deadline_ns)
    }

    /// Arms the timer in the queue, or moves it there. Leaves its position alone, which says what an owner waits for. Among equal
    /// deadlines it then comes last.
    ///
    /// While handlers are being called, a deadline that the thread has already passed, for example that of a burst's next tick,
    /// is queued as if it were the instant of the thread's latest poll. So a timer that was due earlier is called earlier: it
    /// waits for at most one such call of each other timer, however far behind that timer is. The end of its tolerance window
    /// stays: on virtual time the turn in which it is due may be over before that instant.
    package mutating func place(_ token: TimerToken, _ deadline_ns: Int64) {
        let slot = token.slot
        hrt_probe_arm(slot, deadline_ns)
        leaveExpired(slot)
        records[slot].phase = .armed
        let place_ns = isFiring ? max(deadline_ns, looked_ns) : deadline_ns
        let end_ns = deadline_ns.addingSaturating(records[slot].allowedTolerance_ns)
        let rest_ns = end_ns.subtractingSaturating(place_ns)
        let options = hrt_arm_options(tolerance_ns: rest_ns, is_precise: records[slot].isPrecise)
        unsafe hrt_queue_arm(queue, slot, place_ns, options)
    }

    package mutating func disarm(_ token: TimerToken) {
        leaveExpired(token.slot)
        _ = unsafe hrt_queue_disarm(queue, token.slot)
        records[token.slot].phase = .idle
    }

    /// Whether the timer's callback is prepared or running, and nobody has armed or disarmed the timer since.
    package func isUntouchedSinceCall(_ token: TimerToken) -> Bool {
        isLive(token) && records[token.slot].phase == .firing
    }
}
#endif

#if os(Linux)
public import CHRTimer
import HRTimerLibc
import Synchronization

/// Everything about *when* and *what next*: the timers of one engine, loop or pool of sleeps, when its thread is to be
/// awake, whom to wake for a new deadline, what is due in which order, and what follows a call.
///
/// Sans-I/O: it is given the time, knows no thread but by name, and calls nobody. A driver owns the thread, parks it,
/// and owns the lock that guards all of this. Its steps are:
///
///     poll     a `Fire` with its callback prepared; or until when to park; or to poll again, so others get the lock
///     spin     without the lock, where the deadline of a fire lies ahead
///     commit   one exchange, without the lock: whether the handler is called now, or somebody withdrew it
///     deliver  without the lock
///     finish   with the lock, which the next poll shares: what follows, and who waits for the end
///
/// No lock is taken while this one is held; no handler is called, and nothing that a user's handler captured is let go.
///
/// Usable from inline code, so that a loop, which is in another module, reads it without copying it first.
@usableFromInline package struct FiringCore: ~Copyable {
    /// How exact its timers are, unless one requests more.
    package var precision: TimerPrecision
    /// Until when the thread parks. `.min` while it is awake: a thread that arms need not wake it then.
    package internal(set) var parkedUntil_ns = Int64.min
    var parksPrecisely = false
    @usableFromInline let id: UInt32
    @usableFromInline var queue: OpaquePointer
    @usableFromInline var records = SlotArray<TimerRecord> { TimerRecord() }
    /// Some timer wants something beside its deadline. Before that nobody need look into records to arm: among a
    /// million timers each is a miss of the cache and of the TLB (`bench ops --operation re-arm`).
    @usableFromInline var hasOptions = false
    /// Some timer has, or had, an owner.
    var hasOwners = false
    /// By slot, of the timers whose record says that they have one.
    var jitters: [UInt32: TickJitter] = [:]
    /// The same for the place of an expired timer.
    @usableFromInline var hasExpired: Bool { !expired.isEmpty }
    var expired = ExpiredTimers()
    /// The groups whose timers are fired. Others wait among the expired ones.
    package internal(set) var served = NumberSet()
    /// Where the queue writes what is due. Sendable and unsafe: memory that this value alone owns.
    nonisolated(unsafe) let batch = UnsafeMutableBufferPointer<hrt_due>.allocate(capacity: FiringCore.batchSize)
    static var batchSize: Int { 64 }

    /// What the clock read when the thread polled last.
    package internal(set) var looked_ns = Int64.min
    /// From when `poll` finds timers due until all are fired.
    var isFiring = false
    /// Decides who has the callback that is prepared.
    package let commit = FireCommit()
    /// Whose callback is prepared, or was committed since; stale if none.
    @usableFromInline var prepared = TimerToken.stale
    /// What the owner of that timer had counted before, for the thread that withdraws the callback.
    package var before = BeforeCall()
    /// The thread that changed that timer has restored it to `before`.
    package var isRestored = false
    /// The timer whose callback is prepared or runs, and the thread that does it.
    var running: (token: TimerToken, thread: UnsafeRawPointer)?
    /// Threads that wait for the running handler to return.
    var waiters = WaitList()

    private let byAddress = PassedByAddress()

    package var account = FiringAccount()
    private var hasEnded = false
    /// The process that the thread is in; a child of fork(2) has another.
    private let generation = hrt_fork_generation()
    /// The queue has nothing more to give back.
    var isTrimmingRecords = false

    /// A precise deadline is spoilt by a wake-up that is late just before it: an ordinary one so near is waited for precisely
    /// too.
    static let preciseNeighbourhood_ns: Int64 = 100_000

    /// `now_ns` is the present time: a queue that was never given it takes all deadlines for far ones, and would file
    /// each timer three times before it is due.
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

    /// Running out of memory, or of 2^28 slots, ends the process, as it does everywhere else in Swift.
    @inline(__always)
    private static func requireMemory(_ status: Int32) {
        if status != 0 { failForMemory(status) }
    }

    @inline(never)
    private static func failForMemory(_ status: Int32) -> Never {
        fatalError("no memory for one more timer: \(TimerError(operation: "grow", errorNumber: -status))")
    }

    var isInForkedChild: Bool { generation != hrt_fork_generation() }

    /// In a child of fork(2), where the thread is not, it has ended as well; nothing but this may be read there.
    @inlinable @inline(__always)
    package var isShutDown: Bool { readIsShutDown() }

    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    @usableFromInline @inline(__always)
    func readIsShutDown() -> Bool { hasEnded || isInForkedChild }
}

// Sendable: it alone owns the memory behind its pointers, and being noncopyable is in one place at a time.
extension FiringCore: @unchecked Sendable {}

/// No token of one core fits another, for as long as there are not 2^32 of them.
private enum CoreNumber {
    private static let last = Atomic<UInt32>(0)

    static func next() -> UInt32 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// What the timers called that were there when a core ended: to be let go without the lock.
package struct EndedTimers: Sendable {
    package private(set) var owners: [any TimerOwner] = []
    private var handlers: [@Sendable (TimerFire) -> Void] = []

    mutating func append(_ target: consuming TimerTarget?) {
        switch consume target {
        case .owner(let owner): owners.append(owner)
        case .handler(let handler): handlers.append(handler)
        case nil: break
        }
    }
}

/// What an owner had counted before its call was prepared.
package struct BeforeCall: Sendable {
    package var ticks: GridPosition
    /// See `TickJitter.delay_ns`.
    package var delay_ns: Int64
    package var missedTicks: Int
    package var lastFired_ns: Int64?

    package init(
        ticks: GridPosition = GridPosition(deadline_ns: .max),
        delay_ns: Int64 = 0,
        missedTicks: Int = 0,
        lastFired_ns: Int64? = nil
    ) {
        self.ticks = ticks
        self.delay_ns = delay_ns
        self.missedTicks = missedTicks
        self.lastFired_ns = lastFired_ns
    }
}

// Timers that come and go.
extension FiringCore {
    /// Timers that exist, armed or not.
    package var count: Int { hrt_queue_count(queue) }

    /// A new timer without a target, armed unless its deadline is `Int64.max`.
    package mutating func add(deadline_ns: Int64, _ options: TimerOptions = TimerOptions()) -> TimerToken {
        let token = addRecord(armedFor_ns: options.isPlain ? deadline_ns : .max, options)
        if deadline_ns < .max, !options.isPlain { armWithOptions(token.slot, deadline_ns) }
        return token
    }

    /// What stood in the record before is still there, but for what is set here.
    @inline(__always)
    mutating func addRecord(armedFor_ns deadline_ns: Int64, _ options: TimerOptions) -> TimerToken {
        var token = hrt_token()
        if deadline_ns < .max {
            Self.requireMemory(hrt_queue_schedule(queue, deadline_ns, 0, &token))
        } else {
            Self.requireMemory(hrt_queue_add(queue, &token))
        }
        records.makeRoom(for: token.slot)
        if !options.isPlain { hasOptions = true }
        // Field by field: a record moved as a whole takes as long as the arming.
        let record = records.place(token.slot)
        record.pointee.phase = .idle
        record.pointee.isPrecise = options.isPrecise
        record.pointee.isEarly = false
        record.pointee.hasFunctionFirst = false
        record.pointee.tolerance_ns = options.tolerance_ns
        return TimerToken(token, owner: id)
    }

    @inlinable
    package func isLive(_ token: TimerToken) -> Bool {
        token.owner == id && hrt_queue_is_live(queue, token.c)
    }

    /// The group of the timer, nil if the token is stale. Gives the target in place of nil, to be let go after the
    /// lock: what it captured may call back when it is freed.
    package mutating func remove(_ token: TimerToken, _ target: inout TimerTarget?) -> FiringGroup? {
        guard token.owner == id, hrt_queue_remove(queue, token.c) else { return nil }
        leaveExpired(token.slot)
        forgetJitter(token.slot)
        let record = records.place(token.slot)
        record.pointee.phase = .vacant
        fill(&target, record.pointee.target.take())
        return record.pointee.group
    }

    /// The same for a timer without a target.
    @discardableResult
    package mutating func remove(_ token: TimerToken) -> Bool {
        var target: TimerTarget?
        return remove(token, &target) != nil
    }

    /// Forgets all timers and gives them, to be let go after the lock: every token is stale from now on. None may be
    /// added any more.
    package mutating func end() -> EndedTimers {
        hasEnded = true
        _ = commit.withdraw()
        hrt_queue_destroy(queue)
        queue = Self.makeQueue()
        expired.removeAll()
        jitters = [:]
        var ended = EndedTimers()
        records.forEach { ended.append($0.target.take()) }
        records = SlotArray { TimerRecord() }
        return ended
    }

    package func isArmed(_ token: TimerToken) -> Bool {
        token.owner == id && hrt_queue_is_armed(queue, token.c)
    }

    /// Every timer: its deadline, group and target, which is nil while a fire has it.
    package mutating func forEachTimer(_ body: (Int64, FiringGroup, borrowing TimerTarget?) -> Void) {
        records.forEach { if $0.phase != .vacant { body($0.position.deadline_ns, $0.group, $0.target) } }
    }

    /// Whether timers of the group are fired.
    package mutating func serve(_ group: FiringGroup, _ isServed: Bool) {
        if served.contains(Int(group)) == isServed { return }
        if isServed { served.insert(Int(group)) } else { served.remove(Int(group)) }
    }

    @inlinable
    package func group(of token: TimerToken) -> FiringGroup { records[token.slot].group }

    /// Where a live timer's record is, until the timer is removed. With the lock held.
    @inlinable @inline(__always)
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

// Deadlines. The token must be live: its owner has looked, or alone removes it.
extension FiringCore {
    /// What the timer wants from its next arming on.
    @inlinable @inline(__always)
    package mutating func setOptions(_ options: TimerOptions, for token: TimerToken) {
        if !hasOptions, options.isPlain { return }
        hasOptions = true
        records[token.slot].tolerance_ns = options.tolerance_ns
        records[token.slot].isPrecise = options.isPrecise
    }

    /// Whether the timer wants nothing beside its deadline.
    @inlinable @inline(__always)
    package func isPlain(_ slot: UInt32) -> Bool {
        !hasOptions || records[slot].tolerance_ns <= 0 && !records[slot].isPrecise
    }

    /// Arms the timer, or moves it: in the order of equal deadlines it then comes last.
    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    package mutating func arm(_ token: TimerToken, _ deadline_ns: Int64) {
        hrt_probe_arm(token.slot, deadline_ns)
        leaveExpired(token.slot)
        if isPlain(token.slot) {
            hrt_queue_arm_slot(queue, token.slot, deadline_ns)
        } else {
            armWithOptions(token.slot, deadline_ns)
        }
    }

    /// The same for an owner that has its timers shown by their records.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    package mutating func arm(_ token: TimerToken, deadlineOfOwner_ns deadline_ns: Int64) {
        records[token.slot].position.deadline_ns = deadline_ns
        arm(token, deadline_ns)
    }

    /// The same for a deadline that has passed: among others the timer stands as if it were for `place_ns`, which is not
    /// earlier. The end of its window stays: the turn in which it is due may be over before that instant, on virtual time.
    @inline(never)
    mutating func arm(_ token: TimerToken, _ deadline_ns: Int64, place_ns: Int64) {
        leaveExpired(token.slot)
        let slot = token.slot
        if isPlain(slot) { return hrt_queue_arm_slot(queue, slot, place_ns) }
        if records[slot].isPrecise { return hrt_queue_arm_slot_precise(queue, slot, place_ns) }
        let tolerance_ns = records[slot].recurrence.tolerance_ns(asked: records[slot].tolerance_ns)
        let rest_ns = deadline_ns.addingSaturating(tolerance_ns).subtractingSaturating(place_ns)
        hrt_queue_arm_slot_tolerant(queue, slot, place_ns, rest_ns)
    }

    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    @inline(never)
    mutating func armWithOptions(_ slot: UInt32, _ deadline_ns: Int64) {
        if records[slot].isPrecise {
            hrt_queue_arm_slot_precise(queue, slot, deadline_ns)
        } else {
            let tolerance_ns = records[slot].recurrence.tolerance_ns(asked: records[slot].tolerance_ns)
            hrt_queue_arm_slot_tolerant(queue, slot, deadline_ns, tolerance_ns)
        }
    }

    package mutating func disarm(_ token: TimerToken) {
        leaveExpired(token.slot)
        _ = hrt_queue_disarm_slot(queue, token.slot)
        records[token.slot].phase = .idle
    }

    /// Whether the timer's callback is prepared or runs, and nobody armed or disarmed it meanwhile.
    @inline(__always)
    package func isUntouchedSinceCall(_ token: TimerToken) -> Bool {
        guard isLive(token) else { return false }
        let phase = records[token.slot].phase
        return (phase == .firing || phase == .prepared) && !hrt_queue_is_armed_slot(queue, token.slot)
    }
}
#endif

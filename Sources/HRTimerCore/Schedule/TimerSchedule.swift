public import CHRTimer
import Synchronization

/// Everything about *when*: the deadlines of the timers of one engine or loop, when its thread is to be awake, whom to wake
/// for a new deadline, and what is due in which order.
///
/// Told the time, and knowing no thread. Not thread-safe: its owner has the lock. What else belongs to a timer the owner
/// keeps in a `SlotArray` of its own.
///
/// A timer that was taken is not armed; whoever arms, disarms or removes it before its turn has moved it or called it off.
/// The states of a timer, and what leads from one to another:
///
///     idle     neither armed nor taken       arm -> armed
///     armed    in the queue                  take -> taken, disarm -> idle
///     taken    in the batch, to be called    next -> firing, arm -> armed, disarm -> idle, putBack -> armed
///     firing   its handler runs              arm -> armed, disarm -> idle, the end of the call -> what its owner decides
///
/// Usable from inline code, so that a loop, which is in another module, asks it without copying it first.
@usableFromInline package struct TimerSchedule: ~Copyable {
    /// How exact its timers are, unless one asks for more.
    package var precision: TimerPrecision
    /// What the thread sleeps until. `.min` while it is awake: whoever arms need not wake it then.
    package internal(set) var sleepsUntil_ns = Int64.min
    var sleepsPrecisely = false
    @usableFromInline let id: UInt32
    @usableFromInline var queue: OpaquePointer
    @usableFromInline var slots = SlotArray<Slot> { Slot() }
    /// Some timer has asked for something beside its deadline. Before that nobody need look into slots to arm: among a million
    /// timers each is a miss of the cache and of the TLB (`bench ops --operation re-arm`).
    @usableFromInline var hasAsked = false
    var turn = Turn()
    /// The queue has nothing more to give back.
    var isTrimmingSlots = false

    /// A precise deadline is spoilt by a wake-up that is late just before it: an ordinary one so near is waited for precisely
    /// too.
    static let preciseNeighbourhood_ns: Int64 = 100_000

    @usableFromInline struct Slot: Sendable {
        @usableFromInline var tolerance_ns: Int64 = 0
        @usableFromInline var isPrecise = false
        /// Says nothing while the timer is armed: an owner's arming leaves it alone, to spare a line of the cache.
        @usableFromInline var phase = Phase.vacant
        /// While it is taken: which arming that was. Put off, moved and taken again, it is listed twice.
        var taken: UInt64 = 0
    }

    /// See above; vacant where there is no timer.
    @usableFromInline enum Phase: UInt8, Sendable { case vacant, idle, taken, firing }

    /// `now_ns` is the present time: a queue that was never told it takes all deadlines for far ones, and would file each timer
    /// three times before it is due.
    package init(precision: TimerPrecision, now_ns: Int64 = .min) {
        self.precision = precision
        queue = Self.makeQueue()
        id = ScheduleNumber.next()
        hrt_queue_take_due(queue, now_ns, nil, 0)
    }

    deinit {
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
}

// Sendable: it alone owns the memory behind its pointers, and being noncopyable is in one place at a time.
extension TimerSchedule: @unchecked Sendable {}

/// No token of one schedule fits another, for as long as there are not 2^32 of them.
private enum ScheduleNumber {
    private static let last = Atomic<UInt32>(0)

    static func next() -> UInt32 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}

// Timers that come and go.
extension TimerSchedule {
    /// What a timer asks for beside its deadline.
    @usableFromInline package struct Asked: Sendable {
        @usableFromInline package var tolerance_ns: Int64 = 0
        @usableFromInline package var isPrecise = false

        @inlinable
        package init(tolerance_ns: Int64 = 0, isPrecise: Bool = false) {
            self.tolerance_ns = tolerance_ns
            self.isPrecise = isPrecise
        }

        @inlinable @inline(__always)
        var isPlain: Bool { tolerance_ns <= 0 && !isPrecise }
    }

    /// Timers that exist, armed or not.
    package var count: Int { hrt_queue_count(queue) }

    /// A new timer, armed unless its deadline is `Int64.max`.
    @inline(__always)
    package mutating func add(deadline_ns: Int64 = .max, _ asked: Asked = Asked()) -> TimerToken {
        var token = hrt_token()
        if deadline_ns < .max, asked.isPlain {
            Self.requireMemory(hrt_queue_schedule(queue, deadline_ns, 0, &token))
        } else {
            Self.requireMemory(hrt_queue_add(queue, &token))
        }
        slots.makeRoom(for: token.slot)
        if !asked.isPlain { hasAsked = true }
        slots[token.slot] = Slot(tolerance_ns: asked.tolerance_ns, isPrecise: asked.isPrecise, phase: .idle)
        if deadline_ns < .max, !asked.isPlain { armAsAsked(token.slot, deadline_ns) }
        return TimerToken(token, owner: id)
    }

    @inlinable
    package func isLive(_ token: TimerToken) -> Bool {
        token.owner == id && hrt_queue_is_live(queue, token.c)
    }

    /// The token of a timer that was taken.
    @inlinable
    package func token(_ due: hrt_due) -> TimerToken { TimerToken(due.token, owner: id) }

    /// False if the token is stale.
    @inlinable
    package mutating func remove(_ token: TimerToken) -> Bool {
        guard token.owner == id, hrt_queue_remove(queue, token.c) else { return false }
        slots[token.slot].phase = .vacant
        return true
    }

    /// Forgets all timers: every token is stale from now on, and all memory is given back. No timer may be added any more.
    package mutating func end() {
        hrt_queue_destroy(queue)
        queue = Self.makeQueue()
        slots = SlotArray { Slot() }
        turn.clear()
    }

    package func isArmed(_ token: TimerToken) -> Bool {
        token.owner == id && hrt_queue_is_armed(queue, token.c)
    }

    /// `Int64.max` if it is not armed, or if the token is stale.
    package func deadline_ns(of token: TimerToken) -> Int64 {
        token.owner == id ? hrt_queue_deadline_ns(queue, token.c) : .max
    }
}

// Deadlines. The token must be live: its owner has looked, or alone removes it.
extension TimerSchedule {
    /// What the timer asks for from its next arming on.
    @inlinable
    package mutating func ask(_ asked: Asked, for token: TimerToken) {
        if !hasAsked, asked.isPlain { return }
        hasAsked = true
        slots[token.slot].tolerance_ns = asked.tolerance_ns
        slots[token.slot].isPrecise = asked.isPrecise
    }

    /// Whether the timer asks for nothing beside its deadline.
    @inline(__always)
    package func isPlain(_ token: TimerToken) -> Bool {
        !hasAsked || slots[token.slot].tolerance_ns <= 0 && !slots[token.slot].isPrecise
    }

    /// Whether the timer asks to be precise where the others are not.
    package func isPrecise(_ token: TimerToken) -> Bool { slots[token.slot].isPrecise }

    package func tolerance_ns(of token: TimerToken) -> Int64 { slots[token.slot].tolerance_ns }

    /// Arms the timer, or moves it: in the order of equal deadlines it then comes last.
    @inlinable
    package mutating func arm(_ token: TimerToken, _ deadline_ns: Int64) {
        if !hasAsked || slots[token.slot].tolerance_ns <= 0 && !slots[token.slot].isPrecise {
            hrt_queue_arm_slot(queue, token.slot, deadline_ns)
        } else {
            armAsAsked(token.slot, deadline_ns)
        }
    }

    /// The same for a deadline that has passed: among others the timer stands as if it were for `place_ns`, which is not
    /// earlier. The end of its window stays: the turn in which it is due may be over before that instant, on virtual time.
    @inline(never)
    package mutating func arm(_ token: TimerToken, _ deadline_ns: Int64, place_ns: Int64) {
        let slot = slots[token.slot]
        if slot.isPrecise { return hrt_queue_arm_slot_precise(queue, token.slot, place_ns) }
        let rest_ns = deadline_ns.addingSaturating(slot.tolerance_ns).subtractingSaturating(place_ns)
        if rest_ns > 0 { return hrt_queue_arm_slot_tolerant(queue, token.slot, place_ns, rest_ns) }
        hrt_queue_arm_slot(queue, token.slot, place_ns)
    }

    /// The same for a timer that asks for nothing, which the caller knows.
    @inline(__always)
    package mutating func armPlain(_ token: TimerToken, _ deadline_ns: Int64) {
        hrt_queue_arm_slot(queue, token.slot, deadline_ns)
    }

    @usableFromInline @inline(never)
    mutating func armAsAsked(_ slot: UInt32, _ deadline_ns: Int64) {
        if slots[slot].isPrecise {
            hrt_queue_arm_slot_precise(queue, slot, deadline_ns)
        } else {
            hrt_queue_arm_slot_tolerant(queue, slot, deadline_ns, slots[slot].tolerance_ns)
        }
    }

    package mutating func disarm(_ token: TimerToken) {
        _ = hrt_queue_disarm_slot(queue, token.slot)
        slots[token.slot].phase = .idle
    }

    /// Whether the timer's handler runs and nobody armed or disarmed it meanwhile.
    @inline(__always)
    package func isUntouchedSinceCall(_ token: TimerToken) -> Bool {
        isLive(token) && slots[token.slot].phase == .firing && !hrt_queue_is_armed_slot(queue, token.slot)
    }

    /// The timer's call is over.
    @inline(__always)
    package mutating func endCall(_ token: TimerToken) {
        slots[token.slot].phase = .idle
    }
}

// Memory.
extension TimerSchedule {
    /// Whether `trim()` would be worth its while. O(1).
    package var wantsTrim: Bool { isTrimmingSlots || hrt_queue_wants_trim(queue) }

    /// Gives memory back that no timer needs any more: a bounded piece of work a call. True if there is more to do. The
    /// owner trims what it keeps by slot afterwards.
    package mutating func trim() -> Bool {
        if !isTrimmingSlots {
            isTrimmingSlots = !hrt_queue_trim(queue)
            return true
        }
        isTrimmingSlots = slots.trim { $0.phase == .vacant }
        return isTrimmingSlots
    }
}

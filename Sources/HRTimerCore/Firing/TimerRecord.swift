#if os(Linux)
import CHRTimer

/// What the core keeps of one timer beside its place in the queue. Guarded by the core's lock, as all of the core.
///
/// What a fire of an owner's timer touches comes first, to be in one cache line; and together what moving a timer does
/// (`bench ops --operation re-arm`).
@usableFromInline package struct TimerRecord: ~Copyable, Sendable {
    /// Nil in a slot that is free, and while a fire has it.
    var target: TimerTarget?
    /// See `Phase`. Says nothing while the timer is armed: an owner's arming leaves the record alone, to save a cache
    /// line.
    @usableFromInline var phase = Phase.vacant
    /// Stays after its last fire, for its owner arms it again.
    var isOwned = false
    /// What may be fired when: for a loop the number of a set of modes.
    @usableFromInline var group: FiringGroup = 0
    /// How far it has come on its grid. A handler's timer is armed or called for that deadline; its place in the queue may be later,
    /// see `FiringCore.setDeadline`. An owner's may be armed for another instant: earlier, by a lead, or none, while a call is on its
    /// way.
    @usableFromInline package var position = GridPosition(deadline_ns: .max)
    /// Is to be precise where the core's other timers are not.
    @usableFromInline var isPrecise = false
    /// See `TimerRequest.isEarly`.
    var isEarly = false
    /// Its owner's first stored property is the function that it calls, or begins with it: see `FiringCore.addOwned`.
    var hasFunctionFirst = false
    /// It has a `TickJitter`, among the core's `jitters`.
    var isJittered = false
    /// A timer armed for the past is not late before it was armed.
    var lateFrom_ns = Int64.min
    /// While it is expired: its place in the order of `ExpiredTimers`.
    var place_ns = Int64.max
    var sequence: UInt64 = 0
    /// As requested; the part that the recurrence allows counts.
    @usableFromInline var tolerance_ns: Int64 = 0
    @usableFromInline package var recurrence = Recurrence.once

    /// Where a timer is, and what leads it from there to where:
    ///
    ///     phase     means                            left by
    ///     vacant    there is no timer                add -> idle
    ///     idle      it waits for nothing             arm -> armed
    ///     (armed)   it is in the queue               expiry -> expired, disarm -> idle
    ///     expired   it waits to be fired             a fire -> prepared or firing, arm -> armed, disarm -> idle
    ///     prepared  its callback waits for the       commit -> firing, withdrawal -> expired, arm -> armed,
    ///               deadline                         disarm -> idle
    ///     firing    its handler runs                 finish -> armed or idle, arm -> armed, disarm -> idle
    ///
    /// From each of them removal leads to vacant.
    @usableFromInline enum Phase: UInt8, Sendable { case vacant, idle, expired, prepared, firing }
}

/// Timers that are fired together or not at all, by a number of their owner's.
@usableFromInline package typealias FiringGroup = Int32

/// What a timer wants beside its deadline.
@usableFromInline package struct TimerOptions: Sendable {
    @usableFromInline package var tolerance_ns: Int64
    @usableFromInline package var isPrecise: Bool

    @inlinable
    package init(tolerance_ns: Int64 = 0, isPrecise: Bool = false) {
        self.tolerance_ns = tolerance_ns
        self.isPrecise = isPrecise
    }

    @inlinable @inline(__always)
    var isPlain: Bool { tolerance_ns <= 0 && !isPrecise }
}

/// What a timer calls. Noncopyable, so that it is moved and no reference counted on the way of a fire.
package enum TimerTarget: ~Copyable, Sendable {
    case handler(@Sendable (TimerFire) -> Void)
    case owner(any TimerOwner)
}

/// When and for whom a timer is requested.
package struct TimerRequest {
    /// `Int64.max`: not armed yet.
    package var deadline_ns = Int64.max
    package var repetition = Recurrence.once
    package var tolerance_ns: Int64 = 0
    /// What counts as tolerance instead, if it is more, on an engine that coalesces and has a crowd of timers.
    package var crowdTolerance_ns: Int64 = 0
    /// Nil for the core's own.
    package var precision: TimerPrecision?
    /// Stays until it is cancelled, however often it fires.
    package var isOwned = false
    /// Called as soon as a precise wait has woken, maybe before the deadline: the callee makes sure that nothing comes
    /// of that before.
    package var isEarly = false
    package var group: FiringGroup = 0
    /// Nil for none. Its delay is in the deadline.
    package var jitter: TickJitter?

    package init() {}

    /// Sets deadline and recurrence of a timer that may have a jitter and a random phase. `random` is asked for what has no
    /// seed.
    @inline(__always)
    package mutating func set(
        _ deadline_ns: Int64,
        _ repetition: Recurrence,
        _ jitter: Jitter?,
        _ phase: TimerPhase,
        random: @autoclosure () -> UInt64
    ) {
        self.deadline_ns = deadline_ns
        self.repetition = repetition
        if jitter != nil || phase != .given { spread(jitter, phase, random) }
    }

    @inline(never)
    private mutating func spread(_ jitter: Jitter?, _ phase: TimerPhase, _ random: () -> UInt64) {
        deadline_ns = phase.first_ns(deadline_ns, repetition, random: random())
        guard let jitter, repetition.repeats else { return }
        var ticks = TickJitter(jitter, for: repetition, random: random())
        deadline_ns = ticks.place(deadline_ns)
        self.jitter = ticks
    }
}
#endif

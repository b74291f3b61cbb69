// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

/// What the core keeps of one timer beside its place in the queue. Guarded by the core's lock, like all of the core.
@usableFromInline package struct TimerRecord: ~Copyable, Sendable {
    /// What the timer calls; nil for none.
    var target: TimerTarget?
    /// Whether a call is under way. A nested run of a loop does not call the timer again meanwhile.
    var isInCall = false
    /// See `Phase`.
    var phase = Phase.idle
    /// Whether the timer stays after its last fire, since its owner arms it again.
    var isOwned = false
    /// The group, which decides when the timer may be fired: for a loop, the number of a set of modes.
    var group: FiringGroup = 0
    /// When the timer fires. A handler's timer is armed or called for its deadline; its place in the queue may be later, see
    /// `FiringCore.place`. A source may be armed for another instant: earlier by a lead, or none while a call is under way. Other
    /// owners keep what they wait for themselves.
    package var schedule = TimerSchedule()
    /// Whether the timer is precise where the core's other timers are not.
    var isPrecise = false
    /// See `TimerRequest.isEarly`.
    var isEarly = false
    /// The instant before which a timer that was armed for the past is not late: its arming.
    var lateFrom_ns = Int64.min
    /// The timer's place in the order of `ExpiredTimers`, while it is expired.
    var place_ns = Int64.max
    var sequence: UInt64 = 0
    /// The tolerance as requested.
    var tolerance_ns: Int64 = 0

    /// The deadline of the next call, with its jitter. Asked of the record: the schedule would be copied to be asked in another
    /// module, and with it a reference counted.
    package var deadline_ns: Int64 { schedule.deadline_ns }

    /// The part of the tolerance that the recurrence allows.
    var allowedTolerance_ns: Int64 { schedule.recurrence.tolerance_ns(requested: tolerance_ns) }

    /// The state of a timer, and what leads from each state to which other one:
    ///
    ///     phase     means                            left by
    ///     idle      it waits for nothing, as at      arm -> armed
    ///               first
    ///     armed     it is in the queue               expiry -> expired, disarm -> idle
    ///     expired   it waits to be fired             a fire -> firing, arm -> armed, disarm -> idle
    ///     firing    its callback waits for the       finish -> armed or idle, withdrawal -> expired, arm -> armed,
    ///               deadline (see `FireCommit`), or  disarm -> idle
    ///               its handler runs
    ///
    /// In every state the timer may be removed, which ends its record.
    enum Phase: UInt8, Sendable { case idle, armed, expired, firing }
}

/// The number of a group of timers that are fired together or not at all. The owner of the timers chooses it.
package typealias FiringGroup = Int32

/// The options of a timer beside its deadline.
package struct TimerOptions: Sendable {
    package var tolerance_ns: Int64
    package var isPrecise: Bool

    package init(tolerance_ns: Int64 = 0, isPrecise: Bool = false) {
        self.tolerance_ns = tolerance_ns
        self.isPrecise = isPrecise
    }
}

/// What a timer calls.
package enum TimerTarget: Sendable {
    case handler(@Sendable (TimerFire) -> Void)
    case owner(any TimerOwner)
}

/// The interval of a timer that is moved to another deadline.
package enum RescheduledInterval: Sendable {
    case same
    /// Another interval; nil for none.
    case new(Duration?)
}

/// A request for a new timer.
package struct TimerRequest {
    /// The deadline, without jitter; `Int64.max` for a timer that is not armed yet.
    package var deadline_ns = Int64.max
    /// How much earlier than the deadline the grid begins; see `ExactInstant`.
    package var roundedUp_as: UInt32 = 0
    package var repetition = Recurrence.once
    package var tolerance_ns: Int64 = 0
    /// The tolerance that counts instead, if it is greater, on an engine that coalesces and has a crowd of timers.
    package var crowdTolerance_ns: Int64 = 0
    /// The precision; nil for the core's own.
    package var precision: TimerPrecision?
    /// Whether the timer stays until it is cancelled, however often it fires.
    package var isOwned = false
    /// Whether the timer is called as soon as a precise wait has woken, maybe before the deadline: the callee makes sure that
    /// the call has no effect before it.
    package var isEarly = false
    package var group: FiringGroup = 0
    package var jitter: TickJitter?

    package init() {}

    /// When the timer fires.
    var schedule: TimerSchedule {
        var schedule = TimerSchedule(repetition, GridPosition(deadline_ns: deadline_ns, roundedUp_as: roundedUp_as))
        schedule.jitter = jitter
        return schedule
    }

    /// Sets the deadline and the recurrence of a timer that may have a jitter and a random phase. `random` is called for each
    /// of them that has no seed.
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

    private mutating func spread(_ jitter: Jitter?, _ phase: TimerPhase, _ random: () -> UInt64) {
        deadline_ns = phase.first_ns(deadline_ns, repetition, random: random())
        if let jitter, repetition.repeats { self.jitter = TickJitter(jitter, random: random()) }
    }
}
#endif

// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// A grid of ticks, whose interval may change.
struct TickGrid: TickPlan {
    typealias Position = TickGridPosition

    private let time: TimeBase
    private let phase: TimerPhase
    /// Has one seed for all consumers, so that each gets the same ticks.
    fileprivate let jitter: TickJitter?
    private(set) var interval: ExactInterval
    /// The ticks, counted from the first one. Nil until a consumer waits, if no first tick was given.
    fileprivate private(set) var ticks: Grid?
    /// When the present interval was set.
    fileprivate private(set) var changed_ns = Int64.min
    /// The number of schedules before this one. A new schedule makes consumers forget former ticks.
    fileprivate private(set) var formerSchedules = 0
    /// Whether a consumer has begun with the first tick. Later consumers begin with the next one.
    fileprivate private(set) var hasBegun = false
    /// The tick that a consumer was given last; nil if there is none on the present grid.
    fileprivate var given: Given?

    /// A tick that a consumer was given: its place on the grid, without jitter, and how late it was.
    fileprivate struct Given: Sendable {
        var nominal_ns: Int64
        let lateness_ns: Int64
    }

    init(_ time: TimeBase, first_ns: Int64?, every interval: Duration, jitter: Jitter?, phase: TimerPhase) {
        self.time = time
        self.phase = phase
        self.jitter = jitter.map { TickJitter($0, random: time.randomNumber()) }
        self.interval = Recurrence(every: interval, policy: .merge).interval
        if let first_ns { begin(at: ExactInstant(first_ns)) }
    }

    /// Begins the grid at `first`, or later by a random part of the interval, as the phase says.
    private mutating func begin(at first: ExactInstant) {
        let recurrence = Recurrence(interval: interval, policy: .merge)
        let first_ns = phase.first_ns(first.rounded_ns, recurrence, random: time.randomNumber())
        ticks = Grid(anchor: ExactInstant(first_ns, roundedUp_as: first.roundedUp_as), interval: interval)
    }

    /// Begins the grid one interval after `now_ns`.
    private mutating func begin(after now_ns: Int64) {
        var first = ExactInstant(now_ns)
        first.advance(by: interval)
        begin(at: first)
    }

    mutating func begin(now_ns: Int64) -> TickGrid {
        if ticks == nil { begin(after: now_ns) }
        defer { hasBegun = true }
        return self
    }

    mutating func schedule(first_ns: Int64?, every interval: Duration, now_ns: Int64) {
        self.interval = Recurrence(every: interval, policy: .merge).interval
        changed_ns = now_ns
        formerSchedules += 1
        given = nil
        if let first_ns { begin(at: ExactInstant(first_ns)) } else { begin(after: now_ns) }
    }

    /// Changes the interval, and keeps the phase: the rest of the present interval changes in proportion.
    mutating func setInterval(_ interval: Duration, now_ns: Int64) {
        let former_ns = self.interval.whole_ns
        self.interval = Recurrence(every: interval, policy: .merge).interval
        // A grid that has not begun has no phase to keep.
        guard let former = ticks else { return }
        changed_ns = now_ns
        let next = former.advanced(past: now_ns)
        if let given, former.number(at: given.nominal_ns).addingSaturating(1) != next.number { self.given = nil }
        // As if the latest tick had come at its deadline: a change at each tick would add up how late they are.
        let phase_ns = now_ns.subtractingSaturating(given?.lateness_ns ?? 0)
        var first_ns = next.anchor.rounded_ns
        if first_ns.subtractingSaturating(phase_ns) <= former_ns {
            first_ns = scaled(first_ns, at: phase_ns, from: former_ns, to: self.interval.whole_ns)
        }
        let grid = Grid(anchor: ExactInstant(first_ns), number: next.number, interval: self.interval)
        given?.nominal_ns = grid.instant_ns(next.number.subtractingSaturating(1))
        ticks = grid
    }
}

/// Returns the deadline after a change of interval: the rest of the present interval changes in proportion to the interval.
private func scaled(_ deadline_ns: Int64, at now_ns: Int64, from before_ns: Int64, to after_ns: Int64) -> Int64 {
    let rest = Int128(deadline_ns) - Int128(now_ns)
    if rest <= 0 { return deadline_ns }
    // Rounded up: never early.
    let scaled = (rest * Int128(after_ns) + Int128(before_ns) - 1) / Int128(before_ns)
    return Int64(clamping: Int128(now_ns) + scaled)
}

/// The position of one consumer on a grid.
struct TickGridPosition: TickPosition {
    private let policy: MissedTickPolicy
    private var schedule = TimerSchedule()
    /// The grid that the schedule follows; nil before the consumer's first wait.
    private var grid: TickGrid?
    /// What comes after the tick that the consumer was given; nil once it has come back.
    private var following: TimerSchedule.Following?
    /// The latest tick without its jitter.
    private var nominal_ns = Int64.min
    /// When the consumer last came back.
    private var returned_ns = Int64.min

    init(_ policy: MissedTickPolicy) {
        self.policy = policy
    }

    var deadline_ns: Int64 { schedule.deadline_ns }
    var unreported: Int { schedule.position.unreported }
    /// A grid that has come to the end of time may get a new schedule.
    var isOver: Bool { false }

    func tolerance_ns(requested requested_ns: Int64) -> Int64 {
        schedule.recurrence.tolerance_ns(requested: requested_ns)
    }

    mutating func begin(now_ns: Int64) -> Int? {
        nominal_ns = schedule.position.deadline_ns
        switch schedule.begin(now_ns: now_ns) {
        case .leftOut: return nil
        case .call(let missed, let following):
            self.following = following
            return missed
        }
    }

    mutating func end(now_ns: Int64) {
        returned_ns = now_ns
        if let following = following.take() { schedule.end(following, now_ns: now_ns) }
    }

    func noteTick(lateness_ns: Int64, in grid: inout TickGrid) {
        // With `.delay` a tick has no place on the grid.
        if !policy.countsFromReturn { grid.given = TickGrid.Given(nominal_ns: nominal_ns, lateness_ns: lateness_ns) }
    }

    mutating func follow(_ present: TickGrid, now_ns: Int64) {
        guard let ticks = present.ticks else { return }
        if let grid {
            change(from: grid, to: present, ticks)
        } else {
            schedule.jitter = present.jitter
            schedule.position.move(to: present.hasBegun ? ticks.advanced(past: now_ns).anchor : ticks.anchor)
        }
        grid = present
        schedule.recurrence = Recurrence(interval: present.interval, policy: policy)
    }

    private mutating func change(from former: TickGrid, to present: TickGrid, _ ticks: Grid) {
        if former.formerSchedules != present.formerSchedules {
            schedule.position = GridPosition(ticks.anchor)
        } else if policy.countsFromReturn {
            let (former_ns, present_ns) = (former.interval.whole_ns, present.interval.whole_ns)
            // The consumer's own interval begins when it comes back, be that after the change.
            let begun_ns = max(present.changed_ns, returned_ns)
            let deadline_ns = scaled(schedule.position.deadline_ns, at: begun_ns, from: former_ns, to: present_ns)
            schedule.position.move(to: ExactInstant(deadline_ns))
        } else {
            // Ticks before the present interval was set were missed, under every policy.
            let number = (former.ticks ?? ticks).number(at: schedule.position.deadline_ns)
            schedule.position.miss(max(0, ticks.number.subtractingSaturating(number)))
            schedule.position.move(to: ticks.instant(max(number, ticks.number)))
        }
    }
}
#endif

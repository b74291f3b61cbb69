#if os(Linux)
import HRTimerCore
import Synchronization

/// The grid that the consumers of one tick sequence share. It may change while they use it.
final class TickGrid: Sendable {
    let time: TimeBase
    let host: @Sendable () -> TimerHost
    private let phase: TimerPhase
    /// Has one seed for all consumers, so that each gets the same ticks.
    let jitter: TickJitter?

    /// A stretch of equal intervals.
    struct Stretch: Sendable {
        var interval: ExactInterval
        /// The ticks, counted from the first one. Nil until a consumer waits, if no first tick was given.
        var grid: Grid?
        /// The number of changes so far.
        var generation = 0
        /// When this stretch began.
        var begun_ns = Int64.min
        /// The number of the latest change that makes consumers forget former ticks.
        var forgetsBefore = 0

        init(first_ns: Int64?, every interval: Duration) {
            self.interval = Recurrence(every: interval, policy: .merge).interval
            if let first_ns { begin(at: first_ns) }
        }

        mutating func begin(at first_ns: Int64, number: Int64 = 0) {
            grid = Grid(anchor: ExactInstant(first_ns), number: number, interval: interval)
        }

        /// Begins the grid one interval after `now_ns`.
        mutating func begin(after now_ns: Int64) {
            var first = ExactInstant(now_ns)
            first.advance(by: interval)
            grid = Grid(anchor: first, interval: interval)
        }

        /// Moves the grid later by a random part of the interval, unless the phase is `.given`.
        mutating func shift(_ phase: TimerPhase, random: @autoclosure () -> UInt64) {
            guard phase != .given, let grid else { return }
            let recurrence = Recurrence(interval: interval, policy: .merge)
            let first_ns = phase.first_ns(grid.anchor.rounded_ns, recurrence, random: random())
            let first = ExactInstant(first_ns, roundedUp_as: grid.anchor.roundedUp_as)
            self.grid = Grid(anchor: first, number: grid.number, interval: interval)
        }
    }

    /// Created for the first watcher.
    private let watchers = Locked<LateHandlers?>(nil)
    /// The ticks that all consumers got, and the ticks that they missed.
    private let fires = Atomic<UInt64>(0)
    private let missedTicks = Atomic<UInt64>(0)

    private struct State: Sendable {
        var stretch: Stretch
        /// Whether a consumer has begun with the first tick. Later consumers begin with the next one.
        var hasBegun = false
        var isCancelled = false
        /// The consumers that sleep for a tick of this stretch.
        var sleepers: [Sleeper] = []
        /// The tick that a consumer was given last; nil if there is none on the present grid.
        var given: Given?
    }

    /// A tick that a consumer was given: its place on the present grid, and how late it was.
    private struct Given: Sendable {
        var nominal_ns: Int64
        let lateness_ns: Int64
    }

    private let state: Locked<State>

    init(
        _ time: TimeBase,
        first_ns: Int64?,
        every interval: Duration,
        jitter: Jitter? = nil,
        phase: TimerPhase = .given,
        host: @escaping @Sendable () -> TimerHost
    ) {
        self.time = time
        self.host = host
        self.phase = phase
        self.jitter = jitter.map { TickJitter($0, random: time.randomNumber()) }
        var stretch = Stretch(first_ns: first_ns, every: interval)
        stretch.shift(phase, random: time.randomNumber())
        state = Locked(State(stretch: stretch))
    }

    /// The handlers of those who watch late ticks; nil if nobody does.
    var lateHandlers: LateHandlers? { watchers.withLock { $0 } }

    var statistics: FireStatistics {
        FireStatistics(
            fires: fires.load(ordering: .relaxed),
            missedTicks: missedTicks.load(ordering: .relaxed),
            lateness: lateHandlers?.statistics ?? LatenessStatistics()
        )
    }

    /// Counts a tick that a consumer is given, of the stretch with that generation. `nominal_ns` is without jitter.
    func count(_ nominal_ns: Int64, lateness_ns: Int64, missed: Int, _ generation: Int) {
        fires.wrappingAdd(1, ordering: .relaxed)
        if missed > 0 { missedTicks.wrappingAdd(UInt64(missed), ordering: .relaxed) }
        state.withLock { state in
            guard state.stretch.generation == generation else { return }
            state.given = Given(nominal_ns: nominal_ns, lateness_ns: lateness_ns)
        }
    }

    func watch(beyond bound_ns: Int64) -> LateHandlers {
        host().watch().lowerBound(to: bound_ns)
        let made = LateHandlers()
        return watchers.withLock { watchers in
            if watchers == nil { watchers = made }
            return watchers ?? made
        }
    }

    var interval: Duration { state.withLock { $0.stretch.interval.duration } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func setInterval(_ interval: Duration) {
        change { state, now_ns in
            let before = state.stretch
            state.stretch = Stretch(first_ns: nil, every: interval)
            // A stretch that has not begun has no phase to keep.
            guard let grid = before.grid else { return }
            state.stretch.generation = before.generation + 1
            state.stretch.begun_ns = now_ns
            state.stretch.forgetsBefore = before.forgetsBefore
            let next = grid.advanced(past: now_ns)
            let deadline_ns = next.anchor.rounded_ns
            // As if the latest tick had come at its deadline: a change at each tick would add up how late they are.
            let given = state.given.flatMap { given in
                grid.number(at: given.nominal_ns).addingSaturating(1) == next.number ? given : nil
            }
            let phase_ns = now_ns.subtractingSaturating(given?.lateness_ns ?? 0)
            let (former_ns, new_ns) = (before.interval.whole_ns, state.stretch.interval.whole_ns)
            let first_ns =
                deadline_ns.subtractingSaturating(phase_ns) > former_ns
                ? deadline_ns : scaled(deadline_ns, at: phase_ns, from: former_ns, to: new_ns)
            state.stretch.begin(at: first_ns, number: next.number)
            state.given = given
            state.given?.nominal_ns = state.stretch.grid?.instant_ns(next.number.subtractingSaturating(1)) ?? .min
        }
    }

    func schedule(first_ns: Int64?, every interval: Duration) {
        change { state, now_ns in
            let generation = state.stretch.generation + 1
            state.given = nil
            state.stretch = Stretch(first_ns: first_ns, every: interval)
            state.stretch.generation = generation
            state.stretch.forgetsBefore = generation
            state.stretch.begun_ns = now_ns
            if first_ns == nil { state.stretch.begin(after: now_ns) }
            state.stretch.shift(phase, random: time.randomNumber())
        }
    }

    func cancel() {
        change { state, _ in state.isCancelled = true }
    }

    private func change(_ change: (inout State, _ now_ns: Int64) -> Void) {
        let sleepers = state.withLock { state in
            change(&state, time.now_ns)
            defer { state.sleepers = [] }
            return state.sleepers
        }
        // The interrupted consumers plan again.
        for sleeper in sleepers { sleeper.interrupt() }
    }

    /// Returns the present stretch, its grid and the time; nil if the sequence has ended. Ticks that have not begun yet
    /// begin now.
    ///
    /// The time is read under the lock, here and in a change. Otherwise a consumer could take a tick that is later than the
    /// change which follows it, and the next tick would be before that one.
    func present() -> (stretch: Stretch, grid: Grid, now_ns: Int64)? {
        state.withLock { state in
            if state.isCancelled { return nil }
            let now_ns = time.now_ns
            if state.stretch.grid == nil {
                state.stretch.begin(after: now_ns)
                state.stretch.shift(phase, random: time.randomNumber())
            }
            return state.stretch.grid.map { (state.stretch, $0, now_ns) }
        }
    }

    /// Returns true for the first consumer.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
    }

    /// Adds a sleeper. Returns false if the sequence has changed: then the consumer plans its sleep again.
    func enter(_ sleeper: Sleeper, _ generation: Int) -> Bool {
        state.withLock { state in
            guard !state.isCancelled, state.stretch.generation == generation else { return false }
            state.sleepers.append(sleeper)
            return true
        }
    }

    func leave(_ sleeper: Sleeper) {
        state.withLock { state in
            if let place = state.sleepers.firstIndex(where: { $0 === sleeper }) { state.sleepers.remove(at: place) }
        }
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

/// The position of one consumer in a tick sequence.
struct TickConsumer {
    private let grid: TickGrid
    private let policy: MissedTickPolicy
    private let tolerance_ns: Int64
    private var schedule = TimerSchedule()
    /// The stretch for which the schedule was set; nil before the first one.
    private var stretch: TickGrid.Stretch?
    /// What follows the tick that was returned, until its consumer comes back; nil then.
    private var following: TimerSchedule.Following?
    /// When the consumer last came back.
    private var returned_ns = Int64.min
    /// The submission of the wait that has ended, on a watched host.
    private var submitted: SubmittedCall?
    private var hasEnded = false

    struct Tick {
        let deadline_ns: Int64
        let firedAt_ns: Int64
        let missed: Int
        /// Nil if the consumer did not wait for the tick.
        var submitted: SubmittedCall?
    }

    init(_ grid: TickGrid, _ policy: MissedTickPolicy, _ tolerance: Duration) {
        self.grid = grid
        self.policy = policy
        tolerance_ns = tolerance.nanosecondsRoundedUp
        schedule.jitter = grid.jitter
    }

    mutating func next(isolation: isolated (any Actor)? = #isolation) async -> Tick? {
        if hasEnded { return nil }
        if let following = following.take() {
            returned_ns = grid.time.now_ns
            schedule.end(following, now_ns: returned_ns)
        }
        var hasWaited = false
        while !Task.isCancelled, !grid.host().hasEnded, let now_ns = plan() {
            // Also for a tick that is already due: the sleep then gives the executor a turn.
            if schedule.deadline_ns > now_ns || !hasWaited {
                submitted = nil
                if await sleep(&submitted) == .cancellation { break }
                hasWaited = true
                // The consumer checks whether its plan is still valid.
                continue
            }
            let (tick, isLeftOut) = take(now_ns)
            report(tick, isLeftOut: isLeftOut)
            if !isLeftOut { return tick }
        }
        hasEnded = true
        return nil
    }

    /// Takes the tick that is due. Returns whether the policy leaves it out.
    private mutating func take(_ now_ns: Int64) -> (Tick, isLeftOut: Bool) {
        let (deadline_ns, nominal_ns) = (schedule.deadline_ns, schedule.position.deadline_ns)
        switch schedule.begin(now_ns: now_ns) {
        case .leftOut(let missed):
            return (Tick(deadline_ns: deadline_ns, firedAt_ns: now_ns, missed: missed), true)
        case .call(let missed, let following):
            self.following = following
            let lateness_ns = now_ns.subtractingSaturating(deadline_ns)
            // With `.delay` a tick has no place on the grid.
            let generation = policy.countsFromReturn ? -1 : stretch?.generation ?? 0
            grid.count(nominal_ns, lateness_ns: lateness_ns, missed: missed, generation)
            let tick = Tick(deadline_ns: deadline_ns, firedAt_ns: now_ns, missed: missed, submitted: submitted.take())
            return (tick, false)
        }
    }

    /// Reports a late tick to those who watch this sequence. The sleep tells those who watch the host.
    private func report(_ tick: Tick, isLeftOut: Bool) {
        guard let handlers = grid.lateHandlers else { return }
        let lateness_ns = tick.firedAt_ns.subtractingSaturating(tick.deadline_ns)
        guard handlers.isLate(lateness_ns) else { return }
        let ahead_ns = tick.firedAt_ns.subtractingSaturating(grid.time.on(.monotonic).now_ns)
        let called_ns =
            grid.time.clock == .monotonic ? tick.firedAt_ns : tick.firedAt_ns.subtractingSaturating(ahead_ns)
        var submitted = tick.submitted ?? SubmittedCall(submitted_ns: called_ns)
        // The consumer had not come back for the tick when it was due.
        if tick.submitted == nil { submitted.cause = .handlerBefore }
        let explanation = submitted.explained(called_ns.subtractingSaturating(lateness_ns), called_ns)
        handlers.call(explanation.parts) {
            var call = LateCall(name: "ticks", called_ns: called_ns)
            (call.missedTicks, call.isLeftOut) = (tick.missed, isLeftOut)
            return LatenessReport(call, explanation)
        }
    }

    private func sleep(_ submitted: inout SubmittedCall?, isolation: isolated (any Actor)? = #isolation) async
        -> Sleeper.Outcome
    {
        let plan = Sleeper.Plan(
            until: schedule.deadline_ns,
            tolerance: .nanoseconds(schedule.recurrence.tolerance_ns(requested: tolerance_ns))
        )
        let generation = stretch?.generation ?? 0
        return await Sleeper.sleep(on: grid.host(), plan) { sleeper in
            grid.enter(sleeper, generation)
        } leaving: { sleeper in
            grid.leave(sleeper)
            submitted = sleeper.submitted
        }
    }

    /// Sets the next deadline by the grid as it is now. Returns the time at which it read the grid; nil if the sequence has
    /// ended.
    private mutating func plan() -> Int64? {
        guard let (present, ticks, now_ns) = grid.present() else { return nil }
        guard let former = stretch else {
            schedule.position.move(to: grid.begin() ? ticks.anchor : ticks.advanced(past: now_ns).anchor)
            keep(present)
            return now_ns
        }
        if former.generation == present.generation { return now_ns }
        if former.generation < present.forgetsBefore {
            schedule.position = GridPosition(ticks.anchor)
        } else if policy.countsFromReturn {
            let (former_ns, present_ns) = (former.interval.whole_ns, present.interval.whole_ns)
            // The consumer's own interval begins when it comes back, be that after the change.
            let begun_ns = max(present.begun_ns, returned_ns)
            let deadline_ns = scaled(schedule.position.deadline_ns, at: begun_ns, from: former_ns, to: present_ns)
            schedule.position.move(to: ExactInstant(deadline_ns))
        } else {
            follow(former.grid ?? ticks, ticks)
        }
        keep(present)
        return now_ns
    }

    /// Moves the position to the present grid. Ticks before the present stretch were missed, under every policy.
    private mutating func follow(_ former: Grid, _ present: Grid) {
        let number = former.number(at: schedule.position.deadline_ns)
        schedule.position.miss(max(0, present.number.subtractingSaturating(number)))
        schedule.position.move(to: present.instant(max(number, present.number)))
    }

    private mutating func keep(_ present: TickGrid.Stretch) {
        stretch = present
        schedule.recurrence = Recurrence(interval: present.interval, policy: policy)
    }
}
#endif

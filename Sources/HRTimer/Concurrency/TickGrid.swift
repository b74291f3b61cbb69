import HRTimerCore

/// The grid that the consumers of one tick sequence share, and that may change under them.
final class TickGrid: Sendable {
    let time: TimeBase
    let host: @Sendable () -> TimerHost

    /// A stretch of equal intervals: tick `number` is at `first_ns`, and each further one an interval later.
    struct Stretch: Sendable {
        /// Nil before anybody waited, if nobody said when to begin.
        var first_ns: Int64?
        var number = 0
        var repetition: Repetition
        /// Of the changes so far.
        var generation = 0
        /// When it became so, and whether what was before it is forgotten.
        var begun_ns = Int64.min
        var isNew = true

        var interval_ns: Int64 { repetition.interval_ns }

        /// The first tick after an instant; saturates at the end of time.
        func next(after now_ns: Int64, from first_ns: Int64) -> (number: Int, ticks: TickCount) {
            var ticks = TickCount(deadline_ns: first_ns)
            guard first_ns <= now_ns else { return (number, ticks) }
            let count = repetition.count(from: ticks, to: now_ns) + 1
            repetition.advance(&ticks, by: count)
            return (Int(clamping: Int128(number) + count), ticks)
        }

        /// The number of a tick of this stretch.
        func number(of deadline_ns: Int64) -> Int {
            guard let first_ns else { return number }
            return number + Int(repetition.count(from: TickCount(deadline_ns: first_ns), to: deadline_ns))
        }
    }

    private struct State: Sendable {
        var stretch: Stretch
        /// A consumer has begun with the first tick: others begin with the next.
        var hasBegun = false
        var isCancelled = false
        /// Who sleeps for a tick of the present stretch.
        var sleepers: [Sleeper] = []
    }

    private let state: Locked<State>

    init(
        _ time: TimeBase,
        first_ns: Int64?,
        every interval: Duration,
        host: @escaping @Sendable () -> TimerHost
    ) {
        self.time = time
        self.host = host
        let repetition = Repetition(every: interval, policy: .merge)
        state = Locked(State(stretch: Stretch(first_ns: first_ns, repetition: repetition)))
    }

    var interval: Duration { state.withLock { $0.stretch.repetition.interval } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func setInterval(_ interval: Duration) {
        let now_ns = time.now_ns
        change { state in
            let before = state.stretch
            let repetition = Repetition(every: interval, policy: .merge)
            state.stretch.repetition = repetition
            // Before it has begun there is no phase.
            guard let first_ns = before.first_ns else { return }
            state.stretch.generation += 1
            state.stretch.begun_ns = now_ns
            state.stretch.isNew = false
            let (number, ticks) = before.next(after: now_ns, from: first_ns)
            let deadline_ns = ticks.deadline_ns
            state.stretch.number = number
            state.stretch.first_ns =
                deadline_ns.subtractingSaturating(now_ns) > before.interval_ns
                ? deadline_ns : scaled(deadline_ns, at: now_ns, from: before.interval_ns, to: repetition.interval_ns)
        }
    }

    func schedule(first_ns: Int64?, every interval: Duration) {
        let now_ns = time.now_ns
        change { state in
            let repetition = Repetition(every: interval, policy: .merge)
            state.stretch = Stretch(
                first_ns: first_ns ?? now_ns.addingSaturating(repetition.interval_ns),
                repetition: repetition,
                generation: state.stretch.generation + 1,
                begun_ns: now_ns
            )
        }
    }

    func cancel() {
        change { $0.isCancelled = true }
    }

    private func change(_ change: (inout State) -> Void) {
        let sleepers = state.withLock { state in
            change(&state)
            defer { state.sleepers = [] }
            return state.sleepers
        }
        // They plan anew.
        for sleeper in sleepers { sleeper.interrupt() }
    }

    /// The stretch as it is, which begins now if it has not yet; nil if there is none any more.
    func present(_ now_ns: Int64) -> Stretch? {
        state.withLock { state in
            if state.isCancelled { return nil }
            if state.stretch.first_ns == nil {
                state.stretch.first_ns = now_ns.addingSaturating(state.stretch.interval_ns)
            }
            return state.stretch
        }
    }

    /// True for the first consumer.
    func begin() -> Bool {
        state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
    }

    /// Whether nothing has changed: otherwise who planned a sleep plans anew.
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

/// What was left of an interval, of another one.
private func scaled(_ deadline_ns: Int64, at now_ns: Int64, from before_ns: Int64, to after_ns: Int64) -> Int64 {
    let rest = Int128(deadline_ns) - Int128(now_ns)
    if rest <= 0 { return deadline_ns }
    // Rounded up: never early.
    let scaled = (rest * Int128(after_ns) + Int128(before_ns) - 1) / Int128(before_ns)
    return Int64(clamping: Int128(now_ns) + scaled)
}

/// How far one consumer of a tick sequence has come.
struct TickConsumer {
    private let grid: TickGrid
    private let policy: MissedTickPolicy
    private let tolerance_ns: Int64
    private var ticks = TickCount(deadline_ns: .max)
    /// As it was when `ticks` was set; nil before the first.
    private var stretch: TickGrid.Stretch?
    private var repetition = Repetition.once
    /// A tick was given out, and its consumer has not come back.
    private var isConsuming = false
    private var hasEnded = false

    struct Tick {
        let deadline_ns: Int64
        let firedAt_ns: Int64
        let missed: Int
    }

    init(_ grid: TickGrid, _ policy: MissedTickPolicy, _ tolerance: Duration) {
        self.grid = grid
        self.policy = policy
        tolerance_ns = tolerance.nanosecondsRoundedUp
    }

    mutating func next(isolation: isolated (any Actor)? = #isolation) async -> Tick? {
        if hasEnded { return nil }
        if isConsuming {
            isConsuming = false
            repetition.end(&ticks, now_ns: grid.time.now_ns)
        }
        while !Task.isCancelled, plan() {
            if ticks.deadline_ns > grid.time.now_ns {
                if await sleep() == .cancellation { break }
                // Whoever slept looks whether the plan still holds.
                continue
            }
            if let tick = take() { return tick }
        }
        hasEnded = true
        return nil
    }

    /// The tick that is due; nil if the policy leaves it out.
    private mutating func take() -> Tick? {
        let now_ns = grid.time.now_ns
        let deadline_ns = ticks.deadline_ns
        // A clock that was set back meanwhile has it wait again.
        guard deadline_ns <= now_ns, let missed = repetition.begin(&ticks, now_ns: now_ns) else { return nil }
        isConsuming = true
        return Tick(deadline_ns: deadline_ns, firedAt_ns: now_ns, missed: missed)
    }

    private func sleep(isolation: isolated (any Actor)? = #isolation) async -> Sleeper.Outcome {
        let wish = Sleeper.Wish(
            until: ticks.deadline_ns,
            tolerance: .nanoseconds(repetition.tolerance_ns(asked: tolerance_ns))
        )
        let generation = stretch?.generation ?? 0
        var entered: [Sleeper] = []
        let outcome = await Sleeper.sleep(on: grid.host(), wish) { sleeper in
            guard grid.enter(sleeper, generation) else { return false }
            entered.append(sleeper)
            return true
        }
        for sleeper in entered { grid.leave(sleeper) }
        return outcome
    }

    /// Sets the next deadline by the grid as it is now. False if it has ended.
    private mutating func plan() -> Bool {
        let now_ns = grid.time.now_ns
        guard let present = grid.present(now_ns), let first_ns = present.first_ns else { return false }
        guard let former = stretch else {
            move(
                to: grid.begin() ? TickCount(deadline_ns: first_ns) : present.next(after: now_ns, from: first_ns).ticks
            )
            keep(present)
            return true
        }
        if former.generation == present.generation { return true }
        if present.isNew {
            ticks = TickCount(deadline_ns: first_ns)
        } else if policy == .delay {
            let deadline_ns = scaled(
                ticks.deadline_ns,
                at: present.begun_ns,
                from: former.interval_ns,
                to: present.interval_ns
            )
            move(to: TickCount(deadline_ns: deadline_ns))
        } else {
            follow(former, present, first_ns)
        }
        keep(present)
        return true
    }

    /// Ticks before the present stretch were missed, under every policy.
    private mutating func follow(_ former: TickGrid.Stretch, _ present: TickGrid.Stretch, _ first_ns: Int64) {
        let ahead = former.number(of: ticks.deadline_ns) - present.number
        if ahead < 0 {
            ticks.untold += -ahead
            move(to: TickCount(deadline_ns: first_ns))
        } else {
            var next = TickCount(deadline_ns: first_ns)
            present.repetition.advance(&next, by: Int128(ahead))
            move(to: next)
        }
    }

    /// What is untold stays so.
    private mutating func move(to next: TickCount) {
        (ticks.deadline_ns, ticks.roundedUp_as) = (next.deadline_ns, next.roundedUp_as)
    }

    private mutating func keep(_ present: TickGrid.Stretch) {
        stretch = present
        repetition = present.repetition.with(policy)
    }
}

#if os(Linux)
package import HRTimerCore

/// The state that the consumers of one sequence of ticks at dates share: who sleeps, and whether the sequence goes on.
package final class DateTicks: WallClockListener {
    let time: TimeBase
    let host: TimerHost
    let policy: MissedTickPolicy
    let tolerance_ns: Int64
    private let dates: any DateSequence

    private struct State: Sendable {
        var isCancelled = false
        var sleepers: [Sleeper] = []
        /// How often the clock was set.
        var steps = 0
    }

    private let state = Locked(State())

    /// Creates the state for ticks of the host's clock.
    package init(on host: TimerHost, _ dates: any DateSequence, _ policy: MissedTickPolicy, tolerance: Duration) {
        self.host = host
        self.dates = dates
        self.policy = policy
        time = host.time
        tolerance_ns = max(0, tolerance.nanosecondsRoundedUp)
        if time.clock == .wall { WallClockSteps.notify(self, in: time) }
    }

    /// Has the consumers that sleep look for the first date from now on.
    package func wallClockWasSet() {
        let sleepers = state.withLock { state in
            state.steps += 1
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.interrupt() }
    }

    var steps: Int { state.withLock { $0.steps } }

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func cancel() {
        let sleepers = state.withLock { state in
            state.isCancelled = true
            defer { state.sleepers = [] }
            return state.sleepers
        }
        for sleeper in sleepers { sleeper.interrupt() }
    }

    /// Returns a position that begins at the first date after now.
    func begin() -> DatePosition { DatePosition(dates, after: time.now_ns, policy) }

    /// Returns false if the sleep must not begin: the sequence has ended, or the clock was set since `steps` was read.
    func enter(_ sleeper: Sleeper, _ steps: Int) -> Bool {
        state.withLock { state in
            if state.isCancelled || state.steps != steps { return false }
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

/// One consumer's position in a sequence of ticks at dates.
package struct DateTickConsumer<Instant: TimerInstant> {
    private let ticks: DateTicks
    private var position: DatePosition
    private var isConsuming = false
    private var hasEnded = false
    /// How often the clock had been set when the position was last brought up to date.
    private var steps: Int

    package init(_ ticks: DateTicks) {
        self.ticks = ticks
        steps = ticks.steps
        position = ticks.begin()
    }

    package mutating func next(isolation: isolated (any Actor)? = #isolation) async -> TimerTick<Instant>? {
        if hasEnded { return nil }
        if isConsuming { position.end(now_ns: ticks.time.now_ns) }
        isConsuming = false
        var hasWaited = false
        while position.deadline_ns < .max, !Task.isCancelled, !ticks.isCancelled {
            let steps = ticks.steps
            if steps != self.steps { _ = position.setClockBack(to: ticks.time.now_ns) }
            self.steps = steps
            let (deadline_ns, now_ns) = (position.deadline_ns, ticks.time.now_ns)
            // Also for a tick that is already due: the sleep then gives the executor a turn.
            if deadline_ns > now_ns || !hasWaited {
                if await sleep(until: deadline_ns) == .cancellation { break }
                hasWaited = true
                continue
            }
            guard let missed = position.begin(now_ns: now_ns) else { continue }
            isConsuming = true
            return TimerTick(deadline_ns: deadline_ns, firedAt_ns: now_ns, missedTicks: missed)
        }
        hasEnded = true
        return nil
    }

    private func sleep(
        until deadline_ns: Int64,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Sleeper.Outcome {
        let plan = Sleeper.Plan(until: deadline_ns, tolerance: .nanoseconds(ticks.tolerance_ns))
        var entered: [Sleeper] = []
        let outcome = await Sleeper.sleep(on: ticks.host, plan) { sleeper in
            guard ticks.enter(sleeper, steps) else { return false }
            entered.append(sleeper)
            return true
        }
        for sleeper in entered { ticks.leave(sleeper) }
        return outcome
    }
}
#endif

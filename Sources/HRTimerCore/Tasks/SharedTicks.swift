// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// What the consumers of one sequence of ticks share: the plan, which may change while they use it, and who sleeps.
package final class SharedTicks<Plan: TickPlan>: WallClockListener {
    let time: TimeBase
    let host: @Sendable () -> any TimerHost

    private struct State: Sendable {
        var plan: Plan
        /// The number of changes so far: of the plan and, for dates, of the clock. `cancel()` counts too.
        var generation = 0
        var isCancelled = false
        var sleepers: [Sleeper] = []
        /// The ticks that all consumers got, and the ticks that they missed.
        var fires: UInt64 = 0
        var missedTicks: UInt64 = 0
        /// Created for the first watcher.
        var lateHandlers: LateHandlers?
    }

    private let state: Locked<State>

    init(_ time: TimeBase, _ plan: Plan, host: @escaping @Sendable () -> any TimerHost) {
        self.time = time
        self.host = host
        state = Locked(State(plan: plan))
    }

    func read<Value>(_ body: (Plan) -> Value) -> Value { state.withLock { body($0.plan) } }

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func cancel() { update { $0.isCancelled = true } }

    func change(_ body: (inout Plan, _ now_ns: Int64) -> Void) {
        update { state in body(&state.plan, time.now_ns) }
    }

    /// Has the consumers of dates look for the first one from now on.
    package func wallClockWasSet() { update { _ in } }

    private func update(_ body: (inout State) -> Void) {
        let sleepers = state.withLock { state in
            body(&state)
            state.generation += 1
            defer { state.sleepers = [] }
            return state.sleepers
        }
        // The interrupted consumers look for their next deadline anew.
        for sleeper in sleepers { sleeper.interrupt() }
    }

    /// What a consumer finds when it is about to wait. The plan is nil if it is still the one that the consumer knows.
    typealias Present = (now_ns: Int64, generation: Int, plan: Plan?)

    /// Returns the time, and what has changed since `generation`, which is nil for a consumer that waits for the first time.
    /// Nil if the sequence has ended.
    ///
    /// The time is read under the lock, here and in a change. Otherwise a consumer could take a tick that is later than the
    /// change which follows it, and the next tick would be before that one.
    func present(since generation: Int?) -> Present? {
        state.withLock { state in
            if state.isCancelled { return nil }
            let now_ns = time.now_ns
            if generation == state.generation { return (now_ns, state.generation, nil) }
            return (now_ns, state.generation, generation == nil ? state.plan.begin(now_ns: now_ns) : state.plan)
        }
    }

    /// Adds a sleeper. Returns false if there was a change since that generation: then the consumer looks for its next deadline anew.
    func enter(_ sleeper: Sleeper, _ generation: Int?) -> Bool {
        state.withLock { state in
            guard state.generation == generation else { return false }
            state.sleepers.append(sleeper)
            return true
        }
    }

    func leave(_ sleeper: Sleeper) {
        state.withLock { state in
            if let place = state.sleepers.firstIndex(where: { $0 === sleeper }) { state.sleepers.remove(at: place) }
        }
    }

    /// Counts a tick that a consumer is given, whose position follows that generation of the plan.
    func count(_ tick: Tick, at position: Plan.Position, _ generation: Int?) {
        state.withLock { state in
            state.fires &+= 1
            state.missedTicks &+= UInt64(tick.missed)
            if state.generation == generation { position.noteTick(lateness_ns: tick.lateness_ns, in: &state.plan) }
        }
    }

    /// The handlers of those who watch late ticks; nil if nobody does.
    var lateHandlers: LateHandlers? { state.withLock { $0.lateHandlers } }

    var statistics: TimerStatistics {
        let state = state.withLock { $0 }
        return TimerStatistics(
            fires: state.fires,
            missedTicks: state.missedTicks,
            lateness: state.lateHandlers?.statistics ?? LatenessStatistics()
        )
    }

    func watch(beyond bound_ns: Int64) -> LateHandlers {
        host().watch().lowerBound(to: bound_ns)
        let made = LateHandlers()
        return state.withLock { state in
            if state.lateHandlers == nil { state.lateHandlers = made }
            return state.lateHandlers ?? made
        }
    }
}
#endif

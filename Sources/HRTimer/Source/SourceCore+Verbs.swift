// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore
import HRTimerLibc
import Synchronization

// The verbs that users call. Any thread.
extension SourceCore {
    /// Schedules the source: for a deadline or for now, in a given or a random phase, on the engine's clock or another.
    package func schedule<Instant: TimerInstant>(
        _ deadline: Instant,
        _ repetition: Recurrence,
        _ leeway: Duration,
        _ phase: TimerPhase = .given
    ) {
        var alarm = Instant.clock == core.time.clock ? nil : makeAlarm(Instant.clock)
        let now_ns = deadline == .distantPast ? (alarm?.time ?? core.time).now_ns : .min
        let given_ns = max(deadline.nanoseconds, now_ns)
        let deadline_ns = phase.first_ns(given_ns, repetition, random: core.time.randomNumber())
        let leeway_ns = leeway.nanosecondsRoundedUp
        unsafe update { state, engine, record in
            if let timer = state.timer { engine.dropFollowing(timer) }
            unsafe set(deadline_ns, repetition, leeway_ns, &state, record)
            // A cancelled source would keep the alarm for ever.
            if state.isCancelled { return }
            if unsafe alarm != nil || state.extras != nil { swap(&alarm, &state.makeExtras().pointee.owned.alarm) }
        }
        alarm?.cancel()
    }

    /// Sets the ticks of a source that is not cancelled.
    private func set(
        _ deadline_ns: Int64,
        _ repetition: Recurrence,
        _ leeway_ns: Int64,
        _ state: inout State,
        _ record: UnsafeMutablePointer<TimerRecord>
    ) {
        if state.isCancelled { return }
        unsafe record.pointee.schedule.position = GridPosition(deadline_ns: deadline_ns)
        state.policyElsewhere = nil
        if state.life == .idle { state.life = .active }
        unsafe record.pointee.schedule.recurrence = repetition.with(record.pointee.schedule.recurrence.policy)
        state.leeway_ns = capped(leeway_ns, repetition)
    }

    package var jitter: Jitter? {
        core.state.withLock { engine in record(state, engine)?.pointee.schedule.jitter?.jitter }
    }

    package func setJitter(_ jitter: Jitter?) {
        let jitter = jitter.map { TickJitter($0, random: core.time.randomNumber()) }
        unsafe update { _, _, record in unsafe record.pointee.schedule.jitter = jitter }
    }

    private func makeAlarm(_ clock: TimerClock) -> ClockAlarm {
        ClockAlarm(on: core.time.on(clock)) { [weak self] alarm in self?.hasExpired(alarm) }
    }

    /// Moves the deadline later without a lock, if the source waits to fire once, without an interval and without leeway.
    /// Returns false otherwise.
    package func moveLater(to deadline_ns: Int64) -> Bool {
        let before_ns = movable_ns.load(ordering: .relaxed)
        // Also false if the deadline is closed: no deadline is as late as `closed`.
        guard before_ns <= deadline_ns, deadline_ns < Self.closed else { return false }
        // Relaxed: it publishes nothing else.
        return movable_ns.compareExchange(expected: before_ns, desired: deadline_ns, ordering: .relaxed).exchanged
    }

    /// Closes the movable deadline: from now on the record has the valid one. Must be called with the lock held.
    func close(_ engine: borrowing FiringCore) {
        if movable_ns.load(ordering: .relaxed) == Self.closed { return }
        let deadline_ns = movable_ns.exchange(Self.closed, ordering: .relaxed)
        record(state, engine)?.pointee.schedule.position.deadline_ns = deadline_ns
    }

    package func activate() {
        var isToRegister = false
        updateFlags { state, _ in begin(&state, &isToRegister) }
        if isToRegister { onTarget { [self] in callRegistration() } }
    }

    package func resume() {
        var isToRegister = false
        updateFlags { state, _ in
            if state.suspensions == 0 { return begin(&state, &isToRegister) }
            state.suspensions -= 1
            return state.suspensions == 0
        }
        if isToRegister { onTarget { [self] in callRegistration() } }
    }

    /// Makes the source active. Returns false if it is already. `isToRegister` becomes true if the registration handler must be
    /// called first of all.
    private func begin(_ state: inout State, _ isToRegister: inout Bool) -> Bool {
        guard state.life == .inactive else { return false }
        state.life = .active
        isToRegister = state.hasRegistration && state.call.isNone
        if isToRegister { state.call = .submitted }
        return true
    }

    package func suspend() {
        updateFlags { state, _ in
            if state.suspensions < .max { state.suspensions += 1 }
            return state.suspensions == 1
        }
    }

    package func cancel() {
        var left = Left()
        var mustFinish = false
        // Safe: not used after `unlock()`.
        @safe let engine = unsafe core.state.lock()
        if state.isCancelled { return core.state.unlock() }
        // A store, not an exchange: nobody needs to know where the deadline was moved to.
        movable_ns.store(Self.closed, ordering: .relaxed)
        setCancelled(&state)
        if state.call.isNone, !state.hasCancelHandler {
            // There is no handler to call where the handlers belong, so everything is freed at once.
            letGo(&state, &engine.pointee, &left)
        } else {
            left.mustWake = rearm(&state, &engine.pointee)
            // A call in flight finishes the cancelling when it ends. Not one that a loop may never make.
            mustFinish =
                switch state.call {
                case .none: true
                case .submitted: state.isCalledByLoop
                case .running: false
                }
        }
        core.state.unlock()
        finish(left)
        if mustFinish { finishCancellingOnTarget() }
    }
}
#endif

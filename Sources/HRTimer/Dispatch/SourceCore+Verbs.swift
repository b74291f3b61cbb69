import Glibc
import HRTimerCore
import Synchronization

// What users do. Any thread.
extension SourceCore {
    /// Apart from what `postpone` does, so that it needs none of the registers that this saves.
    @inline(never)
    package func schedule<Instant: TimerInstant>(_ deadline: Instant, _ repetition: Repetition, _ leeway: Duration) {
        if Instant.clock != core.time.clock { return scheduleOnItsClock(deadline, repetition, leeway) }
        let deadline_ns = deadline == .distantPast ? core.time.now_ns : deadline.nanoseconds
        let leeway_ns = leeway.nanosecondsRoundedUp
        var alarm: SourceAlarm?
        update { engine in
            register(&engine)
            set(deadline_ns, repetition, leeway_ns)
            if let rare = state.rare, rare.alarm != nil {
                swap(&alarm, &rare.alarm)
                noteSpecial(&engine)
            }
            return true
        }
        alarm?.end()
    }

    private func scheduleOnItsClock<Instant: TimerInstant>(
        _ deadline: Instant,
        _ repetition: Repetition,
        _ leeway: Duration
    ) {
        var alarm = SourceAlarm(self, core.time.on(Instant.clock))
        let deadline_ns = deadline == .distantPast ? (alarm?.time ?? core.time).now_ns : deadline.nanoseconds
        let leeway_ns = leeway.nanosecondsRoundedUp
        update { engine in
            register(&engine)
            set(deadline_ns, repetition, leeway_ns)
            swap(&alarm, &state.rarely.alarm)
            noteSpecial(&engine)
            return true
        }
        alarm?.end()
    }

    /// With the lock held.
    @inline(__always)
    private func set(_ deadline_ns: Int64, _ repetition: Repetition, _ leeway_ns: Int64) {
        state.ticks = TickCount(deadline_ns: deadline_ns)
        state.flags.insert(.isSetAnew)
        state.leeway_ns = leeway_ns == 0 ? 0 : capped(leeway_ns, repetition)
        state.repetition = repetition.with(state.repetition.policy)
    }

    /// Moves the deadline of a source that waits for it to fire once, and later; without an interval and without leeway.
    /// False if it is not so.
    @inline(__always)
    package func postpone(to deadline_ns: Int64) -> Bool {
        let before_ns = movable_ns.load(ordering: .relaxed)
        // No deadline is as late as `closed`.
        guard before_ns <= deadline_ns, deadline_ns < Self.closed else { return false }
        // Relaxed: nothing else is told by it.
        return movable_ns.compareExchange(expected: before_ns, desired: deadline_ns, ordering: .relaxed).exchanged
    }

    /// With the lock held: from now on the state has the deadline that holds.
    @inline(__always)
    func close() {
        if movable_ns.load(ordering: .relaxed) == Self.closed { return }
        state.ticks.deadline_ns = movable_ns.exchange(Self.closed, ordering: .relaxed)
    }

    package func setEventHandler(_ handler: Callback?) {
        // What is replaced is freed after the lock: its captures may call back.
        var handler = handler
        withLock { engine in
            register(&engine)
            if state.flags.isDisjoint(with: [.isCancelled, .hasEnded]) { swap(&handler, &state.event) }
        }
    }

    package func setRegistrationHandler(_ handler: (@Sendable () -> Void)?) {
        setRare(handler) { rare, handler in swap(&handler, &rare.registration) }
    }

    package func setCancelHandler(_ handler: (@Sendable () -> Void)?) {
        setRare(handler) { rare, handler in swap(&handler, &rare.cancel) }
    }

    @inline(__always)
    private func setRare(_ handler: (@Sendable () -> Void)?, _ set: (Rare, inout Callback?) -> Void) {
        var handler = handler.map(Callback.init)
        withLock { engine in
            register(&engine)
            if state.flags.isDisjoint(with: [.isCancelled, .hasEnded]) { set(state.rarely, &handler) }
        }
    }

    /// From the next call on. Nil for the engine's thread.
    package func setTarget(_ target: Target?) {
        changeTarget { _ in target }
    }

    package func changeTarget(_ change: (Target?) -> Target?) {
        let old = withLock { engine -> Target? in
            if state.isCancelled || state.hasEnded { return nil }
            let target = change(state.rare?.target)
            if target == nil, state.rare == nil { return nil }
            defer { noteSpecial(&engine) }
            return set(target)
        }
        withExtendedLifetime(old) {}
    }

    package func setPolicy(_ policy: MissedTickPolicy) {
        withLock { _ in state.repetition = state.repetition.with(policy) }
    }

    /// Nil for the engine's own.
    package func setPrecision(_ precision: TimerPrecision?) {
        update { engine in
            if state.precision == precision { return false }
            state.precision = precision
            if let rare = state.rare { rare.lead = lead(for: rare.target) }
            noteSpecial(&engine)
            return true
        }
    }

    package var policy: MissedTickPolicy { withLock { _ in state.repetition.policy } }
    package var precision: TimerPrecision? { withLock { _ in state.precision } }
    package var isStrict: Bool { withLock { _ in state.isStrict } }
    package var isCancelled: Bool { withLock { _ in state.isCancelled } }
    package var data: UInt {
        let told = told.load(ordering: .relaxed)
        return told == Self.over ? 0 : told
    }

    /// Nil if none is to come, and on another clock.
    package var nextDeadline_ns: Int64? {
        withLock { _ in
            close()
            guard state.rare?.alarm == nil, state.flags.contains(.isActive), !state.isCancelled, !state.hasEnded else {
                return nil
            }
            return state.ticks.deadline_ns < .max ? state.ticks.deadline_ns : nil
        }
    }

    package func activate() {
        start {
            if state.flags.contains(.isActive) { return false }
            state.flags.insert(.isActive)
            return true
        }
    }

    package func resume() {
        start {
            if state.suspensions > 0 {
                state.suspensions -= 1
                return state.suspensions == 0
            }
            if state.flags.contains(.isActive) { return false }
            state.flags.insert(.isActive)
            return true
        }
    }

    /// A source that has become active has its registration handler called before anything else.
    @inline(__always)
    private func start(_ change: () -> Bool) {
        var isToRegister = false
        update { _ in
            let wasActive = state.flags.contains(.isActive)
            guard change() else { return false }
            isToRegister =
                !wasActive && state.rare?.registration != nil
                && state.flags.contains(.isActive) && state.flags.isDisjoint(with: [.isInFlight, .isCancelled])
            if isToRegister { state.isInFlight = true }
            return true
        }
        if isToRegister { onTarget { [self] in callRegistration() } }
    }

    package func suspend() {
        update { _ in
            if state.suspensions < .max { state.suspensions += 1 }
            return state.suspensions == 1
        }
    }

    package func cancel() {
        var mustFinish = false
        var left = Left()
        withLock { engine in
            if state.isCancelled { return }
            state.flags.insert(.isCancelled)
            // Nothing to call where handlers belong, and no call on its way: all is freed at once.
            if !state.isInFlight, state.rare?.cancel == nil { return letGo(&engine, &left) }
            close()
            left.mustWake = settle(&engine)
            // A call on its way finishes the cancelling when it ends.
            mustFinish = !state.isInFlight
            state.isInFlight = true
        }
        left.end(core)
        if mustFinish { onTarget { [self] in finishCancelling() } }
    }
}

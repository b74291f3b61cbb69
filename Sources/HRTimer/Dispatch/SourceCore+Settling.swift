import HRTimerCore
import Synchronization

// When the engine's timer is armed, and for what. With the engine's lock held.
extension SourceCore {
    /// Arms the engine's timer if a call may come, and disarms it otherwise. True if the engine must be woken.
    @inline(__always)
    func settle(_ engine: inout EngineState) -> Bool {
        guard !state.timer.isNone else { return false }
        var deadline_ns = Int64.max
        if state.mayFire {
            deadline_ns = state.ticks.deadline_ns
            // Repeating sources mostly are not, and what has a clock of its own must be told to that.
            let isOpen =
                state.leeway_ns == 0 && !state.repetition.repeats && core.defersMoves && state.precision == nil
                && state.rare?.alarm == nil
            movable_ns.store(isOpen ? deadline_ns : Self.closed, ordering: .relaxed)
        }
        if state.flags.contains(.isSpecial) { return settleSpecially(deadline_ns, &engine) }
        return engine.setOwned(
            state.timer,
            deadline_ns: deadline_ns,
            tolerance_ns: state.leeway_ns,
            core.time.now_ns
        )
    }

    @inline(never)
    private func settleSpecially(_ deadline_ns: Int64, _ engine: inout EngineState) -> Bool {
        var deadline_ns = deadline_ns
        if let alarm = state.rare?.alarm {
            alarm.set(deadline_ns)
            deadline_ns = .max
        } else if state.rare?.lead != nil {
            deadline_ns = beforeDeadline(deadline_ns)
        }
        return engine.setOwned(state.timer, deadline_ns: deadline_ns, asked, core.time.now_ns)
    }

    private var asked: TimerSchedule.Asked {
        let precision = state.precision ?? .coalesced
        return TimerSchedule.Asked(
            tolerance_ns: precision == .coalesced && core.precision == .coalesced ? state.leeway_ns : 0,
            isPrecise: precision == .precise && core.precision != .precise
        )
    }

    /// Where a call is submitted before its deadline. Apart, for it is rare.
    @inline(never)
    private func beforeDeadline(_ deadline_ns: Int64) -> Int64 {
        // Without a handler nothing is submitted, and ticks are counted when they have come.
        if state.event == nil { return deadline_ns }
        return state.rare?.lead?.instant_ns(before: deadline_ns, now_ns: core.time.now_ns) ?? deadline_ns
    }

    /// The same, but a call that is due already is submitted to its queue without the engine: its thread would have to be woken
    /// for that alone. Not on virtual time, where everything comes when the clock is moved.
    @inline(__always)
    func settleOrSubmit(_ engine: inout EngineState) -> (mustWake: Bool, submit: Callback?) {
        if state.flags.contains(.submits), let submit = submissionIfDue(&engine) { return (settle(&engine), submit) }
        return (settle(&engine), nil)
    }

    @inline(never)
    private func submissionIfDue(_ engine: inout EngineState) -> Callback? {
        guard core.time.virtual == nil || state.rare?.alarm != nil, isDue, !state.timer.isNone, !engine.isShutDown,
            let submit = submission
        else { return nil }
        state.isInFlight = true
        engine.countFire()
        return submit
    }

    /// Has a call made on the target as it is now.
    var submission: Callback? {
        state.rare?.target.map { target in Callback(submission({ [self] in deliver() }, to: target)) }
    }

    /// What has `block` run on the target.
    func submission(_ block: @escaping @Sendable () -> Void, to target: Target) -> @Sendable () -> Void {
        { target.submit(block) }
    }

    /// What the clock of the deadlines reads.
    var now_ns: Int64 { (state.rare?.alarm?.time ?? core.time).now_ns }

    /// Whether a call of the event handler may be made now.
    var isDue: Bool {
        state.mayFire && state.event != nil && state.ticks.deadline_ns < .max && state.ticks.deadline_ns <= now_ns
    }

    package func laterDeadline() -> Int64? {
        let before_ns = state.ticks.deadline_ns
        close()
        let later_ns = state.ticks.deadline_ns
        guard later_ns > before_ns else { return nil }
        movable_ns.store(later_ns, ordering: .relaxed)
        return state.rare?.lead == nil ? later_ns : beforeDeadline(later_ns)
    }

    /// A call was submitted to the target, and will be over before the next deadline, as calls are: the engine is armed for that
    /// already, or it would sleep for longer and would have to be woken when the call is over, a system call and a change of
    /// threads for each. If the call is not over by then the engine was awake in vain, once: `isSlow`.
    ///
    /// Not on virtual time, where nobody sleeps.
    func expectEnd(_ engine: inout EngineState) {
        guard state.isInFlight, !state.isCancelled, state.suspensions == 0, !state.flags.contains(.isSlow),
            state.repetition.repeats, state.repetition.policy != .delay, !state.timer.isNone, core.time.virtual == nil,
            state.rare?.alarm == nil
        else { return }
        let now_ns = core.time.now_ns
        var next_ns = state.ticks.deadline_ns
        // Unless the call has counted it already.
        if next_ns <= now_ns.addingSaturating(state.rare?.lead?.lead_ns ?? 0) {
            next_ns = next_ns.addingSaturating(state.repetition.interval_ns)
        }
        guard next_ns > now_ns, next_ns < .max else { return }
        if state.flags.contains(.isSpecial) {
            let instant_ns = state.rare?.lead?.plan_ns(before: next_ns, now_ns: now_ns) ?? next_ns
            guard instant_ns > now_ns else { return }
            _ = engine.setOwned(state.timer, deadline_ns: instant_ns, asked, now_ns)
        } else {
            _ = engine.setOwned(state.timer, deadline_ns: next_ns, tolerance_ns: state.leeway_ns, now_ns)
        }
    }
}

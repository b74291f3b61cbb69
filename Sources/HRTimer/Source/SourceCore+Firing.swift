// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerCore
import Synchronization

extension SourceCore: TimerOwner {
    /// Arms the engine's timer if a call may come, and disarms it otherwise. Returns true if the caller must wake the engine.
    func rearm(_ state: inout State, _ engine: inout FiringCore) -> Bool {
        // A source that was never active is not armed.
        guard let timer = state.timer, state.life != .inactive, !engine.isShutDown else { return false }
        var deadline_ns = Int64.max
        if state.mayBegin, state.life != .idle {
            @safe let record = engine.record(of: timer)
            deadline_ns = record.pointee.deadline_ns
            let isOpen =
                core.defersMoves && state.leeway_ns == 0 && !record.pointee.schedule.recurrence.repeats
                && state.alarm == nil && state.precision == nil
            movable_ns.store(isOpen ? deadline_ns : Self.closed, ordering: .relaxed)
        }
        if let alarm = state.alarm {
            alarm.set(deadline_ns: deadline_ns)
            deadline_ns = .max
        } else if state.hasLead {
            deadline_ns = beforeDeadline(deadline_ns, &state)
        }
        return arm(timer, deadline_ns, &state, &engine)
    }

    func arm(_ timer: TimerToken, _ deadline_ns: Int64, _ state: inout State, _ engine: inout FiringCore) -> Bool {
        engine.arm(timer, deadline_ns, options(state), core.time.now_ns)
    }

    private func options(_ state: borrowing State) -> TimerOptions {
        let precision = max(state.precision ?? .coalesced, core.precision)
        return TimerOptions(
            tolerance_ns: precision == .coalesced ? state.leeway_ns : 0,
            isPrecise: precision == .precise && core.precision != .precise
        )
    }

    /// Returns the instant at which a call with a lead is to be submitted.
    private func beforeDeadline(_ deadline_ns: Int64, _ state: inout State) -> Int64 {
        // Without a handler nothing is submitted, and ticks are counted when they have come.
        if state.event == nil { return deadline_ns }
        return state.extras?.pointee.lead?.instant_ns(before: deadline_ns, now_ns: core.time.now_ns) ?? deadline_ns
    }

    /// Rearms a source whose call is not made after all.
    private func rearmForLater(_ engine: inout FiringCore) { _ = rearm(&state, &engine) }

    /// Rearms the source as `rearm` does, but has the caller submit a call that is already due to its queue: the engine's
    /// thread would have to be woken for that alone.
    func rearmOrSubmit(
        _ state: inout State,
        _ engine: inout FiringCore,
        isAfterCall: Bool = false
    ) -> (mustWake: Bool, submit: Callback?) {
        if let submit = state.submit, isDue(state, engine) {
            state.call = .submitted
            noteSubmittedHere(&state, now_ns: core.time.now_ns, isAfterCall: isAfterCall)
            engine.countFire()
            return (rearm(&state, &engine), submit)
        }
        return (rearm(&state, &engine), nil)
    }

    /// Returns the reading of the clock that the deadlines are on.
    func now_ns(_ state: borrowing State) -> Int64 {
        // Not a choice between two `TimeBase` values, which would copy one and count its reference.
        if let alarm = state.alarm { return alarm.time.now_ns }
        return core.time.now_ns
    }

    /// Whether a call of the event handler may be made now.
    private func isDue(_ state: borrowing State, _ engine: borrowing FiringCore) -> Bool {
        guard state.mayBegin, state.event != nil,
            let deadline_ns = record(state, engine)?.pointee.deadline_ns
        else { return false }
        return deadline_ns < .max && deadline_ns <= now_ns(state)
    }

    package func shownDeadline_ns(_ armed_ns: Int64) -> Int64 {
        // While a call is in flight, no deadline is waited for.
        guard state.call.isNone else { return .max }
        let movable_ns = movable_ns.load(ordering: .relaxed)
        // A deadline that had passed when it was armed may be armed for a later instant.
        return movable_ns == Self.closed ? armed_ns : max(armed_ns, movable_ns)
    }

    package func laterDeadline(_ engine: inout FiringCore, than armed_ns: Int64) -> Int64? {
        guard let record = record(state, engine) else { return nil }
        let before_ns = unsafe record.pointee.deadline_ns
        close(engine)
        let later_ns = unsafe record.pointee.deadline_ns
        guard later_ns > before_ns else { return nil }
        movable_ns.store(later_ns, ordering: .relaxed)
        return state.hasLead ? beforeDeadline(later_ns, &state) : later_ns
    }

    /// Prepares the call for a nominal deadline that has come, or is about to come. On the engine's thread.
    package func prepare(_ now_ns: Int64, _ engine: inout FiringCore, _ fire: inout Fire) -> Bool {
        // Closed once more: a thread may have moved the deadline after the engine looked.
        close(engine)
        @safe let record = engine.record(of: fire.token)
        guard state.mayBegin else { return false }
        let now_ns = state.alarm?.time.now_ns ?? now_ns
        guard state.event != nil else {
            unsafe beIdle(now_ns, &state, record)
            // A thread rescheduled the source for a later deadline.
            if state.life != .idle { rearmForLater(&engine) }
            return false
        }
        if state.submit != nil { return unsafe prepareSubmission(now_ns, record, &engine, &fire) }
        let deadline_ns = record.pointee.deadline_ns
        switch unsafe Self.beginCall(now_ns, &state, record) {
        case .call(let missed, let following):
            engine.setFollowing(following)
            fire.missedTicks = missed
            fire.callback = watched(state.event, deadline_ns: deadline_ns, missed: missed, isSubmitted: false, &state)
            return true
        case .leftOut(let missed):
            fire.leftOut = missed
            fire.callback = watched(nil, deadline_ns: deadline_ns, missed: missed, isSubmitted: false, &state)
            rearmForLater(&engine)
            return false
        case nil:
            rearmForLater(&engine)
            return false
        }
    }

    /// Prepares the submission to a target queue, which makes the call.
    private func prepareSubmission(
        _ now_ns: Int64,
        _ record: UnsafeMutablePointer<TimerRecord>,
        _ engine: inout FiringCore,
        _ fire: inout Fire
    ) -> Bool {
        // Another thread has closed the movable deadline meanwhile: the engine does not know that the call is due later.
        let deadline_ns = unsafe record.pointee.deadline_ns
        let lead_ns = state.alarm == nil ? state.extras?.pointee.lead?.lead_ns ?? 0 : 0
        guard deadline_ns.subtractingSaturating(lead_ns) <= now_ns else {
            rearmForLater(&engine)
            return false
        }
        state.call = .submitted
        fire.isSubmission = true
        state.extras?.pointee.lead?.submit(for: deadline_ns)
        fire.callback = submitting(state)
        fire.isEarly = state.hasLead
        return true
    }

    package func finish(wasCalled: Bool, _ now_ns: Int64, _ engine: inout FiringCore, _ fire: inout Fire) {
        close(engine)
        if !fire.isSubmission {
            finishCall(wasCalled: wasCalled, now_ns, &engine, &fire)
            return
        }
        // The submitted call ends on its queue.
        if wasCalled { return }
        state.call = .none
        rearmIfChanged(&engine)
        if state.isCancelled { fire.block = Callback { [self] in finishCancellingOnTarget() } }
    }

    /// Finishes a call that was made on the engine's thread, or withdrawn. On that thread, with the lock held.
    private func finishCall(wasCalled: Bool, _ now_ns: Int64, _ engine: inout FiringCore, _ fire: inout Fire) {
        let latch = endRunning(&state)
        if wasCalled {
            if let following = engine.following(fire.token), let record = record(state, engine) {
                unsafe record.pointee.schedule.end(following, now_ns: state.alarm?.time.now_ns ?? now_ns)
            }
            _ = rearm(&state, &engine)
        } else {
            rearmIfChanged(&engine)
        }
        if latch == nil, !state.isCancelled { return }
        let isCancelled = state.isCancelled
        // On virtual time this thread may be inside the `cancel()` that has withdrawn the call.
        let isLater = !wasCalled && state.hasCancelHandler
        fire.block = Callback { [self] in
            latch?.open()
            if !isCancelled { return }
            if isLater { finishCancellingOnTarget() } else { finishCancelling() }
        }
    }

    /// Rearms after a withdrawn call if a thread has changed the timer meanwhile; otherwise the timer waits for the call again.
    private func rearmIfChanged(_ engine: inout FiringCore) {
        guard let timer = state.timer, !engine.isUntouchedSinceCall(timer) else { return }
        _ = rearm(&state, &engine)
    }

    /// Ends a call whose handler has returned, or is not called after all. Returns the latch of the waiting threads.
    private func endRunning(_ state: inout State) -> Latch? {
        state.call = .none
        state.data = 0
        return state.whileRunning.release()
    }

    /// Counts the ticks that have come, and calls the handler if there are any. Runs on the actor, or else on the target. If the
    /// handler that was set since the submission belongs elsewhere, the call is submitted anew to there.
    func deliver(on actor: (any Actor)?) {
        callHere(isEvent: true, on: actor) {
            let (event, early_ns) = withLock { state, engine -> (Callback?, Int64?) in
                guard state.actor === actor else { return (nil, nil) }
                if Self.mayDeliver(state), let deadline_ns = deadlineToSpinTo(state, engine) {
                    return (nil, deadline_ns)
                }
                return (takeSubmittedCall(&state, &engine), nil)
            }
            guard let early_ns else { return event }
            spinOut(until: early_ns)
            return withLock { state, engine in state.actor === actor ? takeSubmittedCall(&state, &engine) : nil }
        }
    }

    /// Takes a submitted call and counts its ticks, which the engine could not know when it counted the fire at the submission.
    private func takeSubmittedCall(_ state: inout State, _ engine: inout FiringCore) -> Callback? {
        guard Self.mayDeliver(state), let record = record(state, engine) else { return nil }
        let deadline_ns = unsafe record.pointee.deadline_ns
        let now_ns = now_ns(state)
        // Without a handler, as where the engine prepares a call.
        if state.event == nil {
            unsafe beIdle(now_ns, &state, record)
            return nil
        }
        switch unsafe Self.beginCall(now_ns, &state, record) {
        case nil: return nil
        case .leftOut(let missed):
            return watched(nil, deadline_ns: deadline_ns, missed: missed, isSubmitted: true, &state)
        case .call(_, let following):
            // Stored now, since nobody can withdraw the call any more.
            unsafe record.pointee.schedule.position = GridPosition(following.deadline)
            state.policyElsewhere = following.policy
        }
        guard let event = state.event else { return nil }
        engine.countMissed(state.data - 1)
        if state.hasLead { engine.recordElsewhere(now_ns.subtractingSaturating(deadline_ns)) }
        let missed = Int(clamping: state.data - 1)
        return watched(event, deadline_ns: deadline_ns, missed: missed, isSubmitted: true, &state)
    }

    /// Calls the registration handler, before the first call of the event handler, unless the source was cancelled first.
    func callRegistration() {
        callHere(isEvent: false, on: nil) {
            withLock { state in
                if state.life.isOver { return nil }
                state.call = unsafe .running(hrt_thread_pointer())
                return state.extras?.pointee.owned.registration.take()
            }
        }
    }

    private static func mayDeliver(_ state: borrowing State) -> Bool {
        !state.life.isOver && state.suspensions == 0
    }

    private func callHere(isEvent: Bool, on actor: (any Actor)?, _ take: () -> Callback?) {
        let callback = take()
        callback?.run()
        let (latch, isCancelled, next) = withLock { state, engine in
            if let policy = state.policyElsewhere.take(), isEvent, let record = record(state, engine) {
                let following = unsafe TimerSchedule.Following(record.pointee.schedule.position.deadline, policy)
                unsafe record.pointee.schedule.end(following, now_ns: now_ns(state))
            }
            let latch = endRunning(&state)
            return (latch, state.isCancelled, rearmOrSubmit(&state, &engine, isAfterCall: isEvent))
        }
        if next.mustWake { core.wake() }
        next.submit?.run()
        latch?.open()
        if !isCancelled { return }
        // The cancel handler runs on the target, even if the event handler belongs to an actor.
        if actor != nil { finishCancellingOnTarget() } else { finishCancelling() }
    }

    /// Begins a call. Returns nil if the source was rescheduled since the submission. What follows the call is for the caller to
    /// store.
    private static func beginCall(
        _ now_ns: Int64,
        _ state: inout State,
        _ record: UnsafeMutablePointer<TimerRecord>
    ) -> TimerSchedule.Begun? {
        guard unsafe record.pointee.deadline_ns <= now_ns else { return nil }
        let begun = unsafe record.pointee.schedule.begin(now_ns: now_ns)
        if case .call(let missed, _) = begun {
            state.call = unsafe .running(hrt_thread_pointer())
            state.data = UInt(missed) &+ 1
        }
        return begun
    }

    /// Makes the source idle if a deadline has come without a handler: neither that one nor those that follow wake anybody.
    private func beIdle(_ now_ns: Int64, _ state: inout State, _ record: UnsafeMutablePointer<TimerRecord>) {
        guard unsafe record.pointee.deadline_ns <= now_ns else { return }
        unsafe Self.forgetTicks(now_ns, state, record)
        state.life = .idle
    }

    /// Drops the nominal deadlines up to now: they are not reported, under any policy.
    static func forgetTicks(_ now_ns: Int64, _ state: borrowing State, _ record: UnsafeMutablePointer<TimerRecord>) {
        if unsafe record.pointee.deadline_ns > now_ns { return }
        var merging = unsafe record.pointee.schedule
        merging.recurrence = merging.recurrence.with(.merge)
        if case .call(_, let following) = merging.begin(now_ns: now_ns) {
            unsafe record.pointee.schedule.position = GridPosition(following.deadline)
        }
    }

    /// Ends the source with its engine: the engine's thread has exited, or this is the last call that it makes.
    package func coreHasEnded() {
        var left = Left()
        let mustFinish = withLock { state, engine -> Bool in
            // A cancelled source that has a target finishes there.
            if state.isCancelled { return state.target == nil }
            state.life = .ended
            letGo(&state, &engine, &left)
            return false
        }
        if mustFinish { finishCancelling() }
        finish(left)
    }

    /// Called when a deadline has come on the alarm's clock; a thread may have moved the deadline since.
    func hasExpired(_ alarm: ClockAlarm) {
        let (mustWake, submit) = withLock { state, engine -> (Bool, Callback?) in
            guard state.alarm === alarm, let timer = state.timer, let record = record(state, engine) else {
                return (false, nil)
            }
            if state.event == nil, state.mayBegin { unsafe beIdle(now_ns(state), &state, record) }
            if state.submit != nil || !isDue(state, engine) { return rearmOrSubmit(&state, &engine) }
            // The end of the call sets the alarm again.
            let now_ns = core.time.now_ns
            return (engine.arm(timer, now_ns, TimerOptions(), now_ns), nil)
        }
        if mustWake { core.wake() }
        submit?.run()
    }
}
#endif

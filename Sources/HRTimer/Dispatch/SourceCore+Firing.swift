import Glibc
import HRTimerCore
import Synchronization

extension SourceCore: StagedHandler {
    /// On the engine's thread: a nominal deadline has come, or is about to.
    package func begin(_ now_ns: Int64, _ engine: inout EngineState) -> StagedCall? {
        // Closed once more: it may have been moved since the engine looked.
        close()
        guard state.mayFire else {
            if state.isInFlight { state.flags.insert(.isSlow) }
            return nil
        }
        let now_ns = state.rare?.alarm?.time.now_ns ?? now_ns
        guard state.event != nil else {
            // Nobody is told of these ticks.
            if takeTicks(now_ns) != nil { state.repetition.end(&state.ticks, now_ns: now_ns) }
            _ = settle(&engine)
            return nil
        }
        if state.flags.contains(.submits), let submission {
            state.isInFlight = true
            state.flags.insert(.engineSubmits)
            return StagedCall(submission, missedTicks: 0)
        }
        let ticksBefore = state.ticks
        guard let event = takeCall(now_ns) else {
            // Scheduled anew for a later deadline.
            _ = settle(&engine)
            return nil
        }
        state.flags.remove([.engineSubmits, .isSetAnew])
        return StagedCall(event, missedTicks: Int(clamping: data - 1), before: ticksBefore)
    }

    package func end(wasCalled: Bool, before: TickCount?, _ engine: inout EngineState) -> Callback? {
        close()
        if !state.flags.contains(.engineSubmits) { return endCall(wasCalled: wasCalled, before, &engine) }
        // What was submitted ends on its queue.
        if wasCalled {
            expectEnd(&engine)
            return nil
        }
        state.isInFlight = state.isCancelled
        settleUnlessPutBack(&engine)
        if !state.isCancelled { return nil }
        return Callback { [self] in onTarget { [self] in finishCancelling() } }
    }

    /// On the engine's thread, with its lock held.
    @inline(__always)
    private func endCall(wasCalled: Bool, _ before: TickCount?, _ engine: inout EngineState) -> Callback? {
        let latch = endRunning()
        if wasCalled {
            endTicks()
            _ = settle(&engine)
        } else {
            if let before, !state.flags.contains(.isSetAnew) { state.ticks = before }
            settleUnlessPutBack(&engine)
        }
        if latch == nil, !state.isCancelled { return nil }
        let isCancelled = state.isCancelled
        return Callback { [self] in
            latch?.open()
            if isCancelled { finishCancelling() }
        }
    }

    /// Where the policy has the handler's return decide about the next deadline.
    private func endTicks() {
        if state.repetition.policy == .delay || state.repetition.policy == .mergeToGrid {
            state.repetition.end(&state.ticks, now_ns: now_ns)
        }
    }

    /// After a call that was called off: the engine puts the timer back where it was, unless somebody changed something.
    private func settleUnlessPutBack(_ engine: inout EngineState) {
        guard !state.timer.isNone, !engine.schedule.isUntouchedSinceCall(state.timer) else { return }
        _ = settle(&engine)
    }

    /// The handler has returned, or is not called after all.
    @inline(__always)
    private func endRunning() -> Latch? {
        state.running = 0
        if told.load(ordering: .relaxed) != Self.over { told.store(0, ordering: .relaxed) }
        if !state.isCancelled { state.isInFlight = false }
        return state.rare?.whileRunning.release()
    }

    /// On the target: counts the ticks that have come, and calls the handler if there are any.
    func deliver() {
        let (event, deadline_ns) = withLock { _ -> (Callback?, Int64?) in
            close()
            guard mayBeCalled, state.suspensions == 0 else { return (nil, nil) }
            if let deadline_ns = deadlineToSpinTo { return (nil, deadline_ns) }
            return (takeCall(now_ns), nil)
        }
        if let deadline_ns {
            spinOut(until: deadline_ns) { mayBeCalled && state.suspensions == 0 ? takeCall(now_ns) : nil }?.run()
        } else {
            event?.run()
        }
        endHere { [event] in if event != nil || deadline_ns != nil { endTicks() } }
    }

    /// Before the first call of the event handler, unless the source was cancelled first.
    func callRegistration() {
        let registration = withLock { _ -> Callback? in
            guard mayBeCalled else { return nil }
            state.running = pthread_self()
            return state.rare?.registration.take()
        }
        registration?.run()
        endHere {}
    }

    private var mayBeCalled: Bool { state.flags.isDisjoint(with: [.isCancelled, .hasEnded]) }

    /// On the target, after a call.
    @inline(__always)
    private func endHere(_ endTicks: () -> Void) {
        let (latch, isCancelled, next) = withLock { engine in
            close()
            endTicks()
            let latch = endRunning()
            if state.flags.contains(.isSlow), state.ticks.deadline_ns > now_ns { state.flags.remove(.isSlow) }
            return (latch, state.isCancelled, settleOrSubmit(&engine))
        }
        if next.mustWake { core.wake() }
        next.submit?.run()
        latch?.open()
        if isCancelled { finishCancelling() }
    }

    /// None if the source was scheduled anew while the call was on its way. With the lock held.
    @inline(__always)
    private func takeCall(_ now_ns: Int64) -> Callback? {
        let deadline_ns = state.ticks.deadline_ns
        guard let ticks = takeTicks(now_ns) else { return nil }
        state.isInFlight = true
        told.store(min(ticks, Self.over - 1), ordering: .relaxed)
        state.running = pthread_self()
        guard let rare = state.rare, let account = rare.account, let event = state.event else { return state.event }
        return account.counting(event, deadline_ns: deadline_ns, ticks: ticks, rare.alarm?.time)
    }

    /// The nominal deadlines up to now; the next one stays in the state. Nil if none has come.
    @inline(__always)
    private func takeTicks(_ now_ns: Int64) -> UInt? {
        guard state.ticks.deadline_ns <= now_ns, let missed = state.repetition.begin(&state.ticks, now_ns: now_ns)
        else { return nil }
        return UInt(missed).addingReportingOverflow(1).partialValue
    }

    /// The engine's thread is not there any more, or this is its last deed.
    package func engineHasEnded() {
        var mustFinish = false
        var left = Left()
        withLock { engine in
            if state.isCancelled {
                // What was cancelled is finished on its queue, if it has one.
                mustFinish = !state.flags.contains(.submits)
            } else {
                state.flags.insert(.hasEnded)
                letGo(&engine, &left)
            }
        }
        if mustFinish { finishCancelling() }
        left.end(core)
    }

    /// The deadline has come on the clock of the alarm, or was moved since.
    func hasRung(_ alarm: SourceAlarm) {
        let (mustWake, submit) = withLock { engine -> (Bool, Callback?) in
            close()
            guard state.rare?.alarm === alarm, !state.timer.isNone else { return (false, nil) }
            if state.flags.contains(.submits) || !isDue { return settleOrSubmit(&engine) }
            // The call has the alarm set again when it ends.
            let now_ns = core.time.now_ns
            return (engine.setOwned(state.timer, deadline_ns: now_ns, .init(), now_ns), nil)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    /// Calls the cancel handler and frees everything: the first time, for the handlers are gone then.
    func finishCancelling() {
        do {
            var left = Left()
            withLock { engine in
                letGo(&engine, &left)
                if left.rest?.cancel != nil { state.running = pthread_self() }
            }
            left.rest?.cancel?.run()
            left.end(core)
        }
        // All is freed by the time that whoever waits goes on.
        let latch = withLock { _ -> Latch? in
            state.running = 0
            return state.rare?.whileRunning.release()
        }
        latch?.open()
    }

    /// Runs a block where handlers belong. After the engine ended that is the calling thread: nothing is lost.
    func onTarget(_ block: @escaping @Sendable () -> Void) {
        if let target = withLock({ _ in state.rare?.target }) {
            submission(block, to: target)()
        } else if !core.runSoon(block) {
            block()
        }
    }
}

import CHRTimer
import HRTimerCore

// One pass of a run.
extension TimerLoop {
    /// Blocks and triggers, then a wait, then timers, the main queue and descriptors, then blocks again. Nil if the run goes
    /// on.
    func pass(limit_ns: Int64, returnsAfterSource: Bool) -> RunResult? {
        tell(.beforeTimers)
        tell(.beforeSources)
        performBlocks()
        var hasServed = callTriggers(onlyFirst: returnsAfterSource)
        if hasServed { performBlocks() }
        var ready = ReadyDescriptors()
        if hasServed || limit_ns < .max && limit_ns <= time.now_ns || isMainQueueReady() {
            updateWatches()
            _ = waiter.poll()
            ready = takeReady()
            fireDueTimers(beginPass())
        } else {
            tell(.beforeWaiting)
            var call = sleep(limit_ns: limit_ns)
            if call == nil {
                // Before a handler can run the loop, which looks anew.
                ready = takeReady()
                tell(.afterWaiting)
                call = beginPass()
            }
            fireDueTimers(call)
        }
        if ready.hasMainQueue, serveMainQueue() { hasServed = true }
        if serveDescriptors(ready, onlyFirst: returnsAfterSource) { hasServed = true }
        performBlocks()
        if hasServed && returnsAfterSource { return .handledSource }
        let isPastLimit = limit_ns < .max && time.now_ns >= limit_ns
        return core.state.withLock { state in
            if isPastLimit { return .timedOut }
            guard let run = state.runs.last, !run.isStopped, !state.isEnded else { return .stopped }
            return state.hasWork(in: run) ? nil : .finished
        }
    }

    private func performBlocks() {
        freeReleased()
        guard core.hasPosted(.blocks) else { return }
        let blocks = core.state.withLock { state in
            let index = state.served
            let blocks = state.performs.take { state.modes.contains($0, index) }
            if state.performs.isEmpty { core.clear(.blocks) }
            return blocks
        }
        for block in blocks { block() }
    }

    /// Takes what is due, and begins the first call.
    private func beginPass() -> TimerCall? {
        let now_ns = time.now_ns
        return core.state.withLock { state in
            state.beginPass(now_ns: now_ns)
            return state.nextCall(now_ns: now_ns)
        }
    }

    /// Sleeps until there is something to do. Gives the first call if that is a timer's and nobody is to be told before.
    private func sleep(limit_ns: Int64) -> TimerCall? {
        let isTold = isObserved(.afterWaiting)
        while true {
            let plan = core.state.withLock { prepareToSleep(limit_ns, &$0) }
            for source in plan.refused { source.invalidate() }
            guard let wake = plan.wake else { continue }
            var prepared: TimerCall?
            let (found, woken_ns) = sleep(until: wake, plan.spinBudget, isTold, &prepared)
            if let woken_ns, prepared != nil, confirm(woken_ns) {
                prepared?.prelude?.called_ns = woken_ns
                return prepared.take()
            }
            prepared?.prelude?.callOff()
            let now_ns = woken_ns ?? time.now_ns
            let isOver = !found.isEmpty || wake.at_ns == .min || now_ns >= limit_ns
            let awake = core.state.withLock { state -> Awake in
                // Before the observers of `afterWaiting`: what they add needs no wake.
                state.schedule.stayAwake()
                _ = state.callOffPrepared()
                // With nothing due the queue asked for a look that was early, or the timer is of a mode that does not run: no
                // reason for a pass.
                state.collectDue(now_ns: now_ns)
                let isDue = state.hasOverdue(at: now_ns)
                if wake.at_ns > .min { state.countWakeup(isSpurious: !isOver && !isDue) }
                guard found.isEmpty, !isTold, isDue else { return Awake(isDue: isOver || isDue, call: nil) }
                state.beginPass(now_ns: now_ns)
                return Awake(isDue: true, call: state.nextCall(now_ns: now_ns))
            }
            if awake.isDue { return awake.call }
        }
    }

    /// The prepared call's deadline has come, and nobody called it off: nothing stands between that and the call.
    @inline(__always)
    private func confirm(_ now_ns: Int64) -> Bool {
        let state = core.state.lock()
        defer { core.state.unlock() }
        guard state.pointee.confirmPrepared(now_ns: now_ns) else { return false }
        state.pointee.schedule.stayAwake()
        return true
    }

    private struct Awake {
        let isDue: Bool
        let call: TimerCall?
    }

    private struct Plan {
        /// What to sleep until; `.min` to look for descriptors and wakes without waiting. Nil to ask again, after a piece of
        /// work that others should not wait for.
        var wake: TimerSchedule.Wake?
        var spinBudget = 0.0
        /// What cannot be watched.
        var refused: [LoopSource] = []
    }

    private func prepareToSleep(_ limit_ns: Int64, _ state: inout LoopState) -> Plan {
        let now = Plan(wake: TimerSchedule.Wake(at_ns: .min))
        let refused = state.updateWatches(core.waiter)
        if !refused.isEmpty { return Plan(wake: nil, refused: refused) }
        // A block or a trigger may have been the last thing there was.
        guard let run = state.runs.last, !run.isStopped, !state.isEnded, state.hasWork(in: run) else {
            return now
        }
        if core.hasPosted([.blocks, .triggers, .signals]) || core.waiter.mayHaveEdges, state.hasWorkNow { return now }
        let overdue_ns = state.overdueDeadline_ns
        // Due in a run around this one, and not called yet; or a precise wait took it and was broken.
        if overdue_ns < .max, overdue_ns <= time.now_ns { return now }
        if state.tidy() { return Plan() }
        var wake = state.nextWake
        if limit_ns < wake.at_ns { wake = TimerSchedule.Wake(at_ns: limit_ns) }
        state.schedule.sleep(until: wake)
        return Plan(wake: wake, spinBudget: state.spinBudget)
    }

    /// `prepared` becomes the call that was begun before its deadline; none is if somebody is to be told first.
    private func sleep(
        until wake: TimerSchedule.Wake,
        _ spinBudget: Double,
        _ isTold: Bool,
        _ prepared: inout TimerCall?
    ) -> (LoopWaiter.Found, now_ns: Int64?) {
        let until_ns = wake.at_ns
        if until_ns == .min { return (waiter.poll(), nil) }
        guard let virtual = time.virtual else {
            guard wake.isPrecise else { return (waiter.wait(until: until_ns), nil) }
            return waiter.wait(until: until_ns, spinBudget: spinBudget) {
                prepared = core.state.withLock { $0.prepareCall(at: until_ns, isBegun: !isTold) }
                prepared?.prelude?.prepare()
            }
        }
        // Descriptors and wakes come from the real world: the virtual clock moves only if there are none now.
        let found = waiter.poll()
        guard found.isEmpty, virtual.now_ns < until_ns else { return (found, nil) }
        return (wait(on: virtual, until: until_ns), nil)
    }

    private func wait(on virtual: any VirtualTime, until until_ns: Int64) -> LoopWaiter.Found {
        switch virtual.wait(until: until_ns, waiter) {
        case .moved:
            return waiter.poll()
        case .found(let found):
            return LoopWaiter.Found(found.isReady ? [.ready] : []).union(found.isWoken ? [.woken] : [])
        case .nothing:
            return waiter.wait(until: .max)
        case .over:
            // There is nothing left that a run could wait for.
            core.state.withLock { $0.setEnded() }
            return .woken
        }
    }
}

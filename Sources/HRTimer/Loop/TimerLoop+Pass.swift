// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerCore
import Synchronization

// One pass of a run.
extension TimerLoop {
    /// Makes passes until the run ends.
    func makePasses(limit_ns: Int64, returnsAfterSource: Bool) -> RunResult {
        var fire = Fire()
        var ready = ReadyDescriptors()
        while true {
            let outcome = pass(limit_ns: limit_ns, returnsAfterSource: returnsAfterSource, &fire, &ready)
            if let outcome { return outcome }
        }
    }

    /// Makes one pass: blocks and triggers, then a wait, then timers, the main queue and descriptors, then blocks again.
    /// Returns nil if the run goes on. The fire and the descriptors belong to the run and are empty before and after.
    private func pass(
        limit_ns: Int64,
        returnsAfterSource: Bool,
        _ fire: inout Fire,
        _ ready: inout ReadyDescriptors
    ) -> RunResult? {
        tell(.beforeTimers)
        tell(.beforeSources)
        performBlocks()
        var hasServed = callTriggers(onlyFirst: returnsAfterSource)
        if hasServed { performBlocks() }
        if hasServed || limit_ns < .max && limit_ns <= time.now_ns || isMainQueueReady() {
            updateWatches()
            _ = waiter.poll()
            ready = takeReady()
            fireDueTimers(&fire, at: beginPass(&fire))
        } else {
            tell(.beforeWaiting)
            var call_ns = sleep(limit_ns: limit_ns, &fire)
            if call_ns == nil {
                // Must come before a handler that runs the loop, which looks again.
                ready = takeReady()
                tell(.afterWaiting)
                call_ns = beginPass(&fire)
            }
            fireDueTimers(&fire, at: call_ns)
        }
        if ready.hasMainQueue, serveMainQueue() { hasServed = true }
        if serveDescriptors(&ready, onlyFirst: returnsAfterSource) { hasServed = true }
        performBlocks()
        if hasServed && returnsAfterSource { return .handledSource }
        let isPastLimit = limit_ns < .max && time.now_ns >= limit_ns
        if isPastLimit { return .timedOut }
        return core.state.withLock { state in
            guard state.isRunning else { return .stopped }
            return state.hasWorkInRun() ? nil : .finished
        }
    }

    private func performBlocks() {
        freeReleased()
        if core.hasPosted(.blocks) { performPosted() }
    }

    private func performPosted() {
        let blocks = core.state.withLock { state in
            let index = state.served
            let blocks = state.performs.take(from: &state.modes) { $1.contains($0.modes, index) }
            if state.performs.entries.isEmpty { core.clear(.blocks) }
            return blocks
        }
        for block in blocks { block() }
    }

    /// Decides what the pass fires, which is all that is due now, and prepares the first call. Returns the clock's reading,
    /// or nil if there is no call.
    private func beginPass(_ fire: inout Fire) -> Int64? {
        let now_ns = time.now_ns
        let hasCall = core.state.withLock { state in
            state.beginPass(now_ns: now_ns)
            return state.prepareNext(now_ns: now_ns, &fire)
        }
        return hasCall ? now_ns : nil
    }

    /// Sleeps until there is something to do. If that is a timer's first call, and no observer is to be notified before it,
    /// returns the clock's reading for the call; otherwise nil.
    private func sleep(limit_ns: Int64, _ fire: inout Fire) -> Int64? {
        let hasObserver = isObserved(.afterWaiting)
        while true {
            let plan = core.state.withLock { prepareToSleep(limit_ns, &$0) }
            guard let park = plan.park else {
                if plan.mustUpdateWatches { updateWatches() }
                continue
            }
            var isPrepared = false
            if park.until_ns > .min { core.observer.value?.willPark(park) }
            hrt_probe_park(park.until_ns, park.isPrecise ? 1 : 0)
            let (found, woken_ns) = sleep(until: park, plan.spinBudget, hasObserver, &fire, &isPrepared)
            hrt_probe_wake(park.until_ns, park.isPrecise ? 1 : 0)
            if park.until_ns > .min { core.observer.value?.didWake(from: park) }
            if isPrepared {
                // Nothing stands between the deadline and the call, not even a lock.
                if let woken_ns, core.commit.commit() {
                    hrt_probe_commit(fire.token.slot, fire.deadline_ns)
                    return woken_ns
                }
                withdraw(&fire)
            }
            let now_ns = woken_ns ?? time.now_ns
            let isOver = !found.isEmpty || park.until_ns == .min || now_ns >= limit_ns
            var hasCall = false
            let isReason = core.state.withLock { state -> Bool in
                // Comes before the observers of `afterWaiting`: what they add needs no wake.
                state.core.stayAwake()
                let isDue: Bool
                if found.isEmpty, !hasObserver {
                    state.beginPass(now_ns: now_ns)
                    hasCall = state.prepareNext(now_ns: now_ns, &fire)
                    isDue = state.core.account.hasLooked
                } else {
                    isDue = state.core.hasExpired(by: now_ns)
                }
                // If nothing is due, the queue asked for a look too early, or the timer is in a mode that does not run.
                // Neither is a reason for a pass.
                if park.until_ns > .min { state.core.account.countWakeup(isSpurious: !isOver && !isDue) }
                return isOver || isDue
            }
            if isReason { return hasCall ? now_ns : nil }
        }
    }

    /// Withdraws the prepared call, which does not come now.
    private func withdraw(_ fire: inout Fire) {
        _ = core.commit.withdraw()
        core.state.withLock { state in _ = state.finish(&fire, now_ns: .min, wasCalled: false) }
        fire.letGo()
    }

    private struct Plan {
        /// Until when to sleep; `.min` to look for descriptors and wakes without waiting. Nil to ask again, after a piece of
        /// work for which other threads should not wait.
        var park: Park?
        var mustUpdateWatches = false
        var spinBudget: Double?
    }

    private func prepareToSleep(_ limit_ns: Int64, _ state: inout LoopState) -> Plan {
        let now = Plan(park: Park(until_ns: .min))
        if state.mustUpdateWatches { return Plan(mustUpdateWatches: true) }
        // A block or a trigger may have been the last thing that the run could wait for.
        guard state.isRunning, state.hasWorkInRun() else { return now }
        if core.hasPosted([.blocks, .triggers, .signals]) || core.waiter.mayHaveEdges, state.hasWorkNow { return now }
        let expired_ns = state.core.firstExpired_ns
        // Due in an outer run, and not called yet; or a precise wait took it out of the queue and was interrupted.
        if expired_ns < .max, expired_ns <= time.now_ns { return now }
        if state.core.tidy() { return Plan() }
        var park = state.core.nextPark
        if limit_ns < park.until_ns { park = Park(until_ns: limit_ns) }
        state.core.park(until: park)
        return Plan(park: park, spinBudget: state.spinBudget)
    }

    /// Sleeps until the end of `park`, a wake or a ready descriptor. A precise sleep prepares the first call before its
    /// deadline, unless an observer is to be notified first.
    private func sleep(
        until park: Park,
        _ spinBudget: Double?,
        _ hasObserver: Bool,
        _ fire: inout Fire,
        _ isPrepared: inout Bool
    ) -> (LoopWaiter.Found, now_ns: Int64?) {
        let until_ns = park.until_ns
        if until_ns == .min { return (waiter.poll(), nil) }
        guard let virtual = time.virtual else {
            if let wakeLatency = waiter.wakeLatency {
                let found = boundLatency(wakeLatency, until_ns)
                if !found.isEmpty { return (found, nil) }
            }
            guard park.isPrecise else { return (waiter.wait(until: until_ns), nil) }
            return waiter.wait(until: until_ns, spinBudget: spinBudget) {
                prepareBefore(until_ns, hasObserver, &fire, &isPrepared)
            }
        }
        return sleep(on: virtual, until: park, spinBudget, hasObserver, &fire, &isPrepared)
    }

    /// Sleeps on a virtual time. Descriptors and wakes come from the real world: the clock moves only if there are none now.
    private func sleep(
        on virtual: any VirtualTime,
        until park: Park,
        _ spinBudget: Double?,
        _ hasObserver: Bool,
        _ fire: inout Fire,
        _ isPrepared: inout Bool
    ) -> (LoopWaiter.Found, now_ns: Int64?) {
        let until_ns = park.until_ns
        let found = waiter.poll()
        guard found.isEmpty, virtual.now_ns < until_ns else { return (found, nil) }
        guard park.isPrecise else { return (wait(on: virtual, until: until_ns, for: until_ns), nil) }
        return waiter.wait(until: until_ns, spinBudget: spinBudget, on: time) { instant_ns in
            wait(on: virtual, until: instant_ns, for: until_ns)
        } prepare: {
            prepareBefore(until_ns, hasObserver, &fire, &isPrepared)
        }
    }

    /// Holds the bound on the wake latency if a precise timer is due soon. If it is due later within the sleep, sleeps first
    /// until it is due soon, and returns what that sleep found.
    private func boundLatency(_ wakeLatency: WakeLatency, _ until_ns: Int64) -> LoopWaiter.Found {
        let precise_ns = core.state.withLock { $0.core.nextPrecise_ns }
        var found: LoopWaiter.Found = []
        _ = wakeLatency.holdIfSoon(precise_ns, now_ns: time.now_ns, until_ns: until_ns) { instant_ns in
            found = waiter.wait(until: instant_ns)
            return !found.isEmpty
        }
        return found
    }

    private func prepareBefore(
        _ until_ns: Int64,
        _ hasObserver: Bool,
        _ fire: inout Fire,
        _ isPrepared: inout Bool
    ) -> Bool {
        core.observer.value?.didWake(from: Park(until_ns: until_ns, isPrecise: true))
        isPrepared = core.state.withLock { $0.prepareBefore(until_ns, isWanted: !hasObserver, &fire) }
        return isPrepared
    }

    private func wait(on virtual: any VirtualTime, until instant_ns: Int64, for deadline_ns: Int64) -> LoopWaiter.Found
    {
        switch virtual.wait(until: instant_ns, for: deadline_ns, waiter) {
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
#endif

import CHRTimer
import Glibc

/// The engine proper. `TimerEngine` is the handle that users own; the thread holds this object, so that dropping the handle
/// can end the thread.
package final class EngineCore: Sendable {
    package typealias Handler = @Sendable (TimerFire) -> Void

    /// What a timer does when it fires.
    package enum Action: Sendable {
        case call(Handler)
        case staged(any StagedHandler)
    }

    package let time: TimeBase
    /// Whether a source may move its deadline later without a word, and be asked when the former one comes.
    package let defersMoves: Bool
    private let configuration: TimerEngine.Configuration
    private let waiter: Waiter
    /// Open to the faces of this package: one that keeps what is its own under the same lock needs no second one. Wakes that
    /// the state asks for are sent after the lock, by `wake()`.
    package let state: Locked<EngineState>
    /// Recorded into by the engine's thread alone.
    private let lateness = LatencyHistogram()
    private let wakeLatency = LatencyHistogram()
    private let margin: SpinMargin

    package init(_ configuration: TimerEngine.Configuration) throws(TimerError) {
        self.configuration = configuration
        time = configuration.time.on(configuration.clock)
        defersMoves = configuration.defersMoves ?? (time.virtual == nil)
        waiter = try Waiter(configuration.wayToWait, clock: configuration.clock)
        state = Locked(EngineState(precision: configuration.precision))
        margin = SpinMargin(
            budget: configuration.spinBudget,
            coverage: configuration.spinCoverage,
            now_ns: configuration.time.now_ns
        )
    }

    package func start() throws(TimerError) {
        if let virtual = time.virtual {
            state.withLock { $0.grants = [] }
            virtual.attach(self)
            return
        }
        // Under the lock, which the thread takes first: no handler runs before `thread` is set.
        try state.withLock { state throws(TimerError) in
            state.thread = try startThread { [self] in run() }
        }
    }

    package var liveTimers: Int { state.withLock { $0.timers.count } }
    package var statistics: EngineStatistics { state.withLock { $0.statistics } }
    package var latenessSoFar: LatencyHistogram { lateness.copy() }
    package var wakeLatencySoFar: LatencyHistogram { wakeLatency.copy() }

    /// Waits until the thread has asked for them, which it does first of all.
    package var grants: [SettingGrant] {
        while true {
            // A futex needs no descriptor: this cannot fail.
            guard let waiter = try? Waiter(.futex) else { return [] }
            let grants = state.withLock { state in
                if state.grants == nil { state.grantWaiters.append(waiter) }
                return state.grants
            }
            if let grants { return grants }
            waiter.wait(until: .max)
        }
    }

    /// The token is stale if the engine has ended.
    package func schedule(_ action: consuming Action, _ request: Request) -> TimerToken {
        // Not by a closure, so that the action is moved: each copy would retain and release its handler.
        let state = self.state.lock()
        if state.pointee.isShutDown {
            self.state.unlock()
            withExtendedLifetime(action) {}
            return .stale
        }
        let token = state.pointee.add(consume action, request)
        let mustWake = request.deadline_ns < .max && state.pointee.mustWake(for: request.deadline_ns)
        self.state.unlock()
        if mustWake { waiter.wake() }
        return token
    }

    /// When a face wants it, and how.
    package struct Request {
        /// `Int64.max`: not armed yet.
        package var deadline_ns = Int64.max
        package var repetition = Repetition.once
        package var tolerance_ns: Int64 = 0
        /// Nil for the engine's own.
        package var precision: TimerPrecision?
        /// Stays until it is cancelled, however often it fires. Then it is as precise as its engine.
        package var isOwned = false

        package init() {}
    }

    /// Arms a timer or moves it, with a new tolerance if one is given. False if the token is stale.
    package func arm(_ token: TimerToken, deadline_ns: Int64, tolerance_ns: Int64? = nil) -> Bool {
        let (isLive, mustWake) = state.withLock { state -> (Bool, Bool) in
            guard state.timers.isLive(token) else { return (false, false) }
            if let tolerance_ns { state.timers.records[token.slot].tolerance_ns = tolerance_ns }
            state.arm(token, deadline_ns)
            let isCalledOff = state.callOff(token)
            return (true, state.mustWake(for: deadline_ns) || isCalledOff)
        }
        if mustWake { waiter.wake() }
        return isLive
    }

    /// Wakes the thread, after whatever said that it must be.
    package func wake() {
        waiter.wake()
    }

    /// Runs `block` on the engine's thread, after what is due already. False if the engine has ended: it will not run.
    package func runSoon(_ block: @escaping @Sendable () -> Void) -> Bool {
        var request = Request()
        request.deadline_ns = time.now_ns
        return schedule(.call { _ in block() }, request) != .stale
    }

    /// Takes back the deadline of a timer, which stays live.
    package func disarm(_ token: TimerToken) {
        let isCalledOff = state.withLock { state in
            if state.timers.isLive(token) { state.disarm(token) }
            return state.callOff(token)
        }
        if isCalledOff { waiter.wake() }
    }

    package func cancel(_ token: TimerToken) -> Bool {
        // Let go after the lock: freeing what the handler captured may call back into this engine.
        let (action, isCalledOff) = state.withLock { ($0.remove(token), $0.callOff(token)) }
        if isCalledOff { waiter.wake() }
        return action != nil
    }

    /// Returns when the timer's handler is not running. At once in the handler itself.
    package func waitUntilNotRunning(_ token: TimerToken) {
        while true {
            let waiter = state.withLock { state -> Waiter? in
                guard let running = state.running, running.token == token, !isCurrent(running.thread) else {
                    return nil
                }
                // A futex needs no descriptor: this cannot fail.
                guard let waiter = try? Waiter(.futex) else { return nil }
                state.runningWaiters.append(waiter)
                return waiter
            }
            guard let waiter else { return }
            waiter.wait(until: .max)
        }
    }

    package func shutdown() {
        let (thread, timers) = state.withLock { state in
            defer { state.thread = nil }
            return (state.thread, state.end())
        }
        if let thread {
            waiter.wake()
            if isCurrent(thread) {
                pthread_detach(thread)
            } else {
                pthread_join(thread, nil)
            }
        }
        withExtendedLifetime(timers) {}
    }
}

// The engine's thread.
extension EngineCore {
    private static let batchSize = 64

    private func run() {
        let settings = AppliedSettings(configuration.realTime, threadName: configuration.name)
        let waiters = state.withLock { state in
            state.grants = settings.grants
            defer { state.grantWaiters = [] }
            return state.grantWaiters
        }
        for waiter in waiters { waiter.wake() }
        withUnsafeTemporaryAllocation(of: hrt_due.self, capacity: Self.batchSize) { batch in
            var slept = Slept()
            while let wake = turn(batch, slept) { slept = sleep(until: wake) }
        }
        settings.giveBack()
    }

    /// What came of a sleep.
    private struct Slept {
        /// Up to when calls are to be made up now, and wait for their deadlines: the thread is awake before them.
        var upTo_ns = Int64.min
        /// What it slept until, if time has come to that.
        var deadline_ns: Int64?
    }

    private func sleep(until wake: EngineState.Wake) -> Slept {
        guard wake.isPrecise else {
            return waiter.wait(until: wake.at_ns) ? Slept() : Slept(deadline_ns: wake.at_ns)
        }
        if waiter.waitToMargin(before: wake.at_ns, margin) { return Slept() }
        if let latency_ns = margin.takeLatency() { wakeLatency.record(latency_ns) }
        return Slept(upTo_ns: wake.at_ns)
    }

    /// Fires all that is due, and what will be due by `slept.upTo_ns`, each at its time. Gives the next instant to wait for, or nil
    /// when the engine has ended.
    private func turn(_ batch: UnsafeMutableBufferPointer<hrt_due>, _ slept: Slept) -> EngineState.Wake? {
        var isFirst = true
        while true {
            let now_ns = time.now_ns
            if isFirst, let deadline_ns = slept.deadline_ns { wakeLatency.record(now_ns - deadline_ns) }
            let outcome = state.withLock { state -> Outcome in
                if state.isShutDown { return .ended }
                let count = state.takeDue(max(now_ns, slept.upTo_ns), batch)
                if isFirst {
                    state.statistics.wakeups += 1
                    if count == 0 { state.statistics.spuriousWakeups += 1 }
                    isFirst = false
                }
                if count > 0 {
                    state.sleepsUntil_ns = .min
                    return .due(count)
                }
                // The queue moves a bounded number of timers a call, and may not have come to those that are due.
                if state.timers.hasDue(at: now_ns) { return .due(0) }
                let wake = state.nextWake
                state.sleepsUntil_ns = wake.at_ns
                return .sleep(wake)
            }
            switch outcome {
            case .ended: return nil
            case .sleep(let wake): return wake
            case .due(let count): fire(UnsafeMutableBufferPointer(rebasing: batch[..<count]), now_ns)
            }
        }
    }

    private enum Outcome { case ended, sleep(EngineState.Wake), due(Int) }

    /// Calls the handlers of a batch in order. No lock is held while one runs.
    private func fire(_ batch: UnsafeMutableBufferPointer<hrt_due>, _ woke_ns: Int64) {
        var lastDeadline_ns: Int64?
        var saved: UInt64 = 0
        for due in batch {
            if let lastDeadline_ns, due.deadline_ns != lastDeadline_ns { saved += 1 }
            lastDeadline_ns = due.deadline_ns
            fire(due, woke_ns)
        }
        if saved > 0, configuration.precision == .coalesced {
            state.withLock { $0.statistics.wakeupsSaved += saved }
        }
    }

    private func fire(_ due: hrt_due, _ woke_ns: Int64) {
        let token = TimerToken(due.token)
        guard let call = state.withLock({ $0.begin(token, due.deadline_ns, woke_ns) }) else { return }
        var now_ns = woke_ns
        var spun_ns: Int64 = 0
        let isCalled: Bool
        switch call.action {
        case .call(let handler):
            isCalled = due.deadline_ns <= now_ns || waitFor(token, due.deadline_ns, &now_ns, &spun_ns)
            if isCalled {
                let fire = note(token, due.deadline_ns, now_ns, call.missedTicks)
                handler(fire)
            }
        case .staged(let staged):
            let handler = staged.prepare(max(now_ns, due.deadline_ns))
            isCalled = due.deadline_ns <= now_ns || waitFor(token, due.deadline_ns, &now_ns, &spun_ns)
            // Moved since it was taken: there is nothing to call, and nothing was late.
            if isCalled, let handler {
                handler()
                _ = note(token, due.deadline_ns, now_ns, call.missedTicks)
            }
            staged.finish(wasCalled: isCalled)
        }
        let ended = state.withLock { state in
            defer { state.runningWaiters = [] }
            // Counted when the call was made up, and called off since.
            if !isCalled { state.statistics.fires -= 1 }
            if spun_ns > 0 { state.statistics.spinTime += .nanoseconds(spun_ns) }
            return Ended(action: state.finish(token, time.now_ns), waiters: state.runningWaiters)
        }
        for waiter in ended.waiters { waiter.wake() }
    }

    /// For the statistics, and for whoever watches lateness.
    private func note(_ token: TimerToken, _ deadline_ns: Int64, _ now_ns: Int64, _ missedTicks: Int) -> TimerFire {
        let fire = TimerFire(token: token, deadline_ns: deadline_ns, firedAt_ns: now_ns, missedTicks: missedTicks)
        lateness.record(now_ns.subtractingSaturating(deadline_ns))
        if let watch = configuration.latenessWatch, fire.lateness > watch.bound { watch.handler(fire) }
        return fire
    }

    /// Spins until the deadline of a call that is made up. False if it was called off meanwhile. What another thread arms for
    /// an earlier instant is fired in between.
    ///
    /// Nothing but the call follows the deadline: whoever calls it off wakes the thread, so that not to be woken is to be
    /// still on. Not even the lock is taken.
    private func waitFor(
        _ token: TimerToken,
        _ deadline_ns: Int64,
        _ now_ns: inout Int64,
        _ spun_ns: inout Int64
    ) -> Bool {
        while true {
            let (isWoken, read_ns, justSpun_ns) = waiter.spin(until: deadline_ns, margin)
            now_ns = read_ns
            spun_ns += justSpun_ns
            guard isWoken else { return true }
            guard state.withLock({ $0.postpone(token) }) else { return false }
            fireEarlier(than: deadline_ns)
            guard state.withLock({ $0.resume(deadline_ns) }) else { return false }
        }
    }

    private func fireEarlier(than deadline_ns: Int64) {
        withUnsafeTemporaryAllocation(of: hrt_due.self, capacity: 1) { batch in
            while true {
                let now_ns = time.now_ns
                let count = state.withLock { state -> Int in
                    guard !state.isShutDown, state.timers.next_ns < deadline_ns else {
                        // In one with the look: whatever is armed from now on sends a wake.
                        state.sleepsUntil_ns = deadline_ns
                        return -1
                    }
                    return state.takeDue(max(now_ns, state.timers.next_ns), batch)
                }
                if count < 0 { return }
                if count > 0 { fire(batch[0], now_ns) }
            }
        }
    }

    /// What is let go only after the lock.
    private struct Ended {
        var action: Action?
        var waiters: [Waiter]
    }
}

extension EngineCore: VirtualTimeParticipant {
    /// None while a handler runs: one that moves the clock is a slow handler, and an engine has but one thread.
    package var nextDeadline_ns: Int64 {
        time.monotonic_ns(state.withLock { $0.isShutDown || $0.running != nil ? .max : $0.nextWake.at_ns })
    }

    package func runDue() {
        withUnsafeTemporaryAllocation(of: hrt_due.self, capacity: Self.batchSize) { batch in
            _ = turn(batch, Slept())
        }
    }
}

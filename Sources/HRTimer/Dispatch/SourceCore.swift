import Glibc

/// The state machine of a `TimerSource`, which is the handle that users own; the engine holds this object.
///
/// The source keeps its own grid: the engine's timer fires once and is armed again only when the handler has returned.
/// While a handler runs, waits in a blocked queue, or is suspended, nothing is armed and nothing wakes; the ticks that pass
/// meanwhile are counted by arithmetic when the next call begins.
package final class SourceCore: Sendable {
    /// Runs a block where the handlers belong.
    package typealias Target = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let engine: TimerEngine
    private let target: Target?
    private let state = Locked(State())

    private struct State: Sendable {
        /// The engine's timer; nil before `register`, stale once the engine ended.
        var timer: TimerToken?
        /// The next nominal deadline that was not counted yet.
        var deadline_ns = Int64.max
        var repetition = Repetition.once
        var leeway_ns: Int64 = 0
        var isActive = false
        var isCancelled = false
        /// From the engine's firing until the handler has returned.
        var isInFlight = false
        var suspensions = 0
        var data: UInt = 0
        var eventHandler: (@Sendable () -> Void)?
        var cancelHandler: (@Sendable () -> Void)?
        /// The thread that runs a handler, and the threads that wait for it to return.
        var running: pthread_t?
        var runningWaiters: [Waiter] = []
    }

    package init(engine: TimerEngine, target: Target?) {
        self.engine = engine
        self.target = target
    }

    package func register() {
        var request = EngineCore.Request { [self] _ in fired() }
        request.isOwned = true
        let timer = engine.core.schedule(request)
        state.withLock { $0.timer = timer }
    }

    /// The handle is gone: stop, and let the handlers go.
    package func abandon() {
        let (timer, handlers) = state.withLock { state in
            state.isCancelled = true
            defer { (state.timer, state.eventHandler, state.cancelHandler) = (nil, nil, nil) }
            return (state.timer, (state.eventHandler, state.cancelHandler))
        }
        if let timer { _ = engine.core.cancel(timer) }
        withExtendedLifetime(handlers) {}
    }

    package func schedule(_ deadline: MonotonicInstant, _ repetition: Repetition, _ leeway: Duration) {
        let deadline_ns = deadline == .distantPast ? engine.core.time.now_ns : deadline.nanoseconds
        let leeway_ns = max(0, leeway.nanosecondsRoundedUp)
        state.withLock { state in
            state.deadline_ns = deadline_ns
            state.repetition = repetition
            state.leeway_ns = repetition.repeats ? min(leeway_ns, repetition.interval_ns / 2) : leeway_ns
            settle(&state)
        }
    }

    package func setEventHandler(_ handler: (@Sendable () -> Void)?) {
        // What is replaced is freed after the lock: its captures may call back.
        let old = state.withLock { state in
            if state.isCancelled { return state.eventHandler }
            defer { state.eventHandler = handler }
            return state.eventHandler
        }
        withExtendedLifetime(old) {}
    }

    package func setCancelHandler(_ handler: (@Sendable () -> Void)?) {
        let old = state.withLock { state in
            if state.isCancelled { return state.cancelHandler }
            defer { state.cancelHandler = handler }
            return state.cancelHandler
        }
        withExtendedLifetime(old) {}
    }

    package func activate() {
        state.withLock { state in
            state.isActive = true
            settle(&state)
        }
    }

    package func resume() {
        state.withLock { state in
            if !state.isActive {
                state.isActive = true
            } else if state.suspensions > 0 {
                state.suspensions -= 1
            }
            settle(&state)
        }
    }

    package func suspend() {
        state.withLock { state in
            if state.suspensions < .max { state.suspensions += 1 }
            settle(&state)
        }
    }

    package func cancel() {
        let mustFinish = state.withLock { state in
            if state.isCancelled { return false }
            state.isCancelled = true
            settle(&state)
            // A call on its way finishes the cancelling when it ends.
            defer { state.isInFlight = true }
            return !state.isInFlight
        }
        if mustFinish { onTarget { [self] in finishCancelling() } }
    }

    package var isCancelled: Bool { state.withLock(\.isCancelled) }
    package var data: UInt { state.withLock(\.data) }

    package func waitUntilNotRunning() {
        while true {
            let waiter = state.withLock { state -> Waiter? in
                guard let running = state.running, !isCurrent(running) else { return nil }
                // A futex needs no descriptor: this cannot fail.
                guard let waiter = try? Waiter(.futex) else { return nil }
                state.runningWaiters.append(waiter)
                return waiter
            }
            guard let waiter else { return }
            waiter.wait(until: .max)
        }
    }
}

// Firing.
extension SourceCore {
    /// Arms the engine's timer if a call may come, and disarms it otherwise.
    private func settle(_ state: inout State) {
        guard let timer = state.timer else { return }
        let mayFire = state.isActive && !state.isCancelled && !state.isInFlight && state.suspensions == 0
        if mayFire, state.deadline_ns < .max {
            _ = engine.core.arm(timer, deadline_ns: state.deadline_ns, tolerance_ns: state.leeway_ns)
        } else {
            engine.core.disarm(timer)
        }
    }

    /// On the engine's thread: a nominal deadline has come.
    private func fired() {
        let mayDeliver = state.withLock { state in
            guard !state.isCancelled, !state.isInFlight, state.suspensions == 0 else { return false }
            state.isInFlight = true
            return true
        }
        guard mayDeliver else { return }
        if let target {
            target { [self] in deliver() }
        } else {
            deliver()
        }
    }

    /// Where handlers run: counts the ticks that have come, and calls the handler if there are any.
    private func deliver() {
        let now_ns = engine.core.time.now_ns
        let handler = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.isCancelled, state.suspensions == 0 else { return nil }
            // None if the source was scheduled anew while this call was on its way.
            let ticks = Self.takeTicks(now_ns, &state)
            guard ticks > 0 else { return nil }
            state.data = ticks
            state.running = pthread_self()
            return state.eventHandler
        }
        handler?()
        finishDelivery()
    }

    private func finishDelivery() {
        let (waiters, isCancelled) = state.withLock { state in
            state.running = nil
            state.data = 0
            if !state.isCancelled {
                state.isInFlight = false
                settle(&state)
            }
            defer { state.runningWaiters = [] }
            return (state.runningWaiters, state.isCancelled)
        }
        for waiter in waiters { waiter.wake() }
        if isCancelled { finishCancelling() }
    }

    /// The nominal deadlines up to now; the next one stays in the state.
    private static func takeTicks(_ now_ns: Int64, _ state: inout State) -> UInt {
        guard state.deadline_ns <= now_ns else { return 0 }
        guard state.repetition.repeats else {
            state.deadline_ns = .max
            return 1
        }
        let (missed, next_ns) = state.repetition.onGrid(after: state.deadline_ns, now_ns: now_ns)
        state.deadline_ns = next_ns
        return UInt(missed.addingReportingOverflow(1).partialValue.magnitude)
    }

    /// Calls the cancel handler and frees everything. Once.
    private func finishCancelling() {
        let (timer, handlers) = state.withLock { state in
            state.running = pthread_self()
            defer { (state.timer, state.eventHandler, state.cancelHandler) = (nil, nil, nil) }
            return (state.timer, (event: state.eventHandler, cancel: state.cancelHandler))
        }
        handlers.cancel?()
        if let timer { _ = engine.core.cancel(timer) }
        let waiters = state.withLock { state in
            state.running = nil
            defer { state.runningWaiters = [] }
            return state.runningWaiters
        }
        for waiter in waiters { waiter.wake() }
    }

    /// Runs a block where handlers belong. After the engine ended that is the calling thread: nothing is lost.
    private func onTarget(_ block: @escaping @Sendable () -> Void) {
        if let target {
            target(block)
        } else if !engine.core.runSoon(block) {
            block()
        }
    }
}

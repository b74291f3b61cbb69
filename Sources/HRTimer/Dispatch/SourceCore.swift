import Glibc
import Synchronization

/// The state machine of a `TimerSource`, which is the handle that users own; the engine holds this object.
///
/// The source keeps its own grid: the engine's timer fires once and is armed again only when the handler has returned.
/// While a handler runs, waits in a blocked queue, or is suspended, nothing is armed and nothing wakes; the ticks that pass
/// meanwhile are counted by arithmetic when the next call begins.
///
/// Its state is under the engine's lock: scheduling, which needs both, takes one lock. Nothing is called with it held.
package final class SourceCore: @unchecked Sendable {
    // Sendable: all but the state is constant.

    @exclusivity(unchecked)
    // Touched only with the engine's lock held, which also makes accesses exclusive: checking each would only cost time.
    private nonisolated(unsafe) var state = State()

    /// The deadline that holds while the engine's timer is armed for it or for an earlier one; `closed` when the state's holds.
    ///
    /// Opened and closed with the lock held. While it is open, whoever only moves the deadline later, as keep-alives do,
    /// exchanges it and takes no lock: the engine looks here when the deadline comes that it knows. That costs it a
    /// wake-up at most once a deadline, and spares all threads the lock as often as the source is moved.
    private let movable_ns = Atomic(SourceCore.closed)
    private static let closed = Int64.max

    /// Runs a block where the handlers belong.
    package typealias Target = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Keeps the engine running.
    private let engine: TimerEngine
    private let core: EngineCore
    private let target: Target?

    private struct State: Sendable {
        /// The engine's timer; nil before `register`, stale once the engine ended.
        var timer: TimerToken?
        /// The next nominal deadline that was not counted yet.
        var ticks = TickCount(deadline_ns: .max)
        /// What they were before a call was made up that may still be called off; nil once they were set anew.
        var ticksBefore: TickCount?
        var repetition = Repetition.once
        var leeway_ns: Int64 = 0
        var isActive = false
        var isCancelled = false
        /// From the engine's firing until the handler has returned.
        var isInFlight = false
        var suspensions = 0
        var data: UInt = 0
        var handlers = Handlers()
        /// The thread that runs a handler, and those who wait for it to return.
        var running: pthread_t?
        var whileRunning = WaitList()
    }

    private struct Handlers: Sendable {
        var event: Callback?
        var cancel: Callback?
        /// Submits a call to the target.
        var submit: Callback?
    }

    package init(engine: TimerEngine, target: Target?) {
        self.engine = engine
        core = engine.core
        self.target = target
    }

    /// For what settles, and so needs the deadline that holds.
    @inline(__always)
    private func withLock<Result>(_ body: (inout State, inout EngineState) -> Result) -> Result {
        core.state.withLock { engine in
            close()
            return body(&state, &engine)
        }
    }

    @inline(__always)
    private func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        core.state.withLock { _ in body(&state) }
    }

    /// Changes the state, arms the engine's timer accordingly, and wakes the engine if it must be.
    @inline(__always)
    private func update(_ change: (inout State) -> Void) {
        let mustWake = withLock { state, engine in
            change(&state)
            return settle(&state, &engine)
        }
        if mustWake { core.wake() }
    }

    package func register() {
        if let target {
            withLock { state in state.handlers.submit = Callback { [self] in target { [self] in deliver() } } }
        }
        var request = EngineCore.Request()
        request.isOwned = true
        let timer = core.schedule(.staged(self), request)
        withLock { state in state.timer = timer }
    }

    /// The handle is gone: stop, and let the handlers go. What was cancelled ends by itself, with its cancel handler.
    package func abandon() {
        let (timer, handlers) = withLock { state -> (TimerToken?, Handlers) in
            if state.isCancelled { return (nil, Handlers()) }
            state.isCancelled = true
            return Self.letGo(&state)
        }
        if let timer { _ = core.cancel(timer) }
        withExtendedLifetime(handlers) {}
    }

    private static func letGo(_ state: inout State) -> (timer: TimerToken?, handlers: Handlers) {
        defer {
            state.timer = nil
            state.handlers = Handlers()
        }
        return (state.timer, state.handlers)
    }

    /// Apart from what `postpone` does, so that it needs none of the registers that this saves.
    @inline(never)
    package func schedule(_ deadline: MonotonicInstant, _ repetition: Repetition, _ leeway: Duration) {
        let deadline_ns = deadline == .distantPast ? core.time.now_ns : deadline.nanoseconds
        let leeway_ns = leeway.nanosecondsRoundedUp
        update { state in
            state.ticks = TickCount(deadline_ns: deadline_ns)
            state.ticksBefore = nil
            state.repetition = repetition
            state.leeway_ns = repetition.tolerance_ns(asked: leeway_ns)
        }
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
    private func close() {
        if movable_ns.load(ordering: .relaxed) == Self.closed { return }
        state.ticks.deadline_ns = movable_ns.exchange(Self.closed, ordering: .relaxed)
    }

    package func setEventHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler { $0.event = handler.map(Callback.init) }
    }

    package func setCancelHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler { $0.cancel = handler.map(Callback.init) }
    }

    @inline(__always)
    private func setHandler(_ set: (inout Handlers) -> Void) {
        // What is replaced is freed after the lock: its captures may call back.
        let old = withLock { state in
            let old = state.handlers
            if !state.isCancelled { set(&state.handlers) }
            return old
        }
        withExtendedLifetime(old) {}
    }

    package func activate() {
        update { $0.isActive = true }
    }

    package func resume() {
        update { state in
            if !state.isActive {
                state.isActive = true
            } else if state.suspensions > 0 {
                state.suspensions -= 1
            }
        }
    }

    package func suspend() {
        update { state in
            if state.suspensions < .max { state.suspensions += 1 }
        }
    }

    package func cancel() {
        let (mustFinish, hasCancelHandler, mustWake) = withLock { state, engine -> (Bool, Bool, Bool) in
            if state.isCancelled { return (false, false, false) }
            state.isCancelled = true
            let mustWake = settle(&state, &engine)
            // A call on its way finishes the cancelling when it ends.
            return (!state.isInFlight, state.handlers.cancel != nil, mustWake)
        }
        if mustWake { core.wake() }
        guard mustFinish else { return }
        if hasCancelHandler {
            onTarget { [self] in finishCancelling() }
        } else {
            // Nothing to call where handlers belong: freed at once.
            finishCancelling()
        }
    }

    package var isCancelled: Bool { withLock(\.isCancelled) }
    package var data: UInt { withLock(\.data) }

    package func waitUntilNotRunning() {
        // In a child of fork(2) nobody runs it, whatever the state says.
        while let latch = withLock({ state -> Latch? in
            guard !core.isInherited, let running = state.running, !isCurrent(running) else { return nil }
            return state.whileRunning.join()
        }) {
            latch.wait()
        }
    }
}

// Firing.
extension SourceCore: StagedHandler {
    /// Arms the engine's timer if a call may come, and disarms it otherwise. True if the engine must be woken.
    @inline(__always)
    private func settle(_ state: inout State, _ engine: inout EngineState) -> Bool {
        guard let timer = state.timer else { return false }
        var deadline_ns = Int64.max
        if state.isActive, !state.isCancelled, !state.isInFlight, state.suspensions == 0 {
            deadline_ns = state.ticks.deadline_ns
            let isOpen = core.defersMoves && state.leeway_ns == 0 && !state.repetition.repeats
            movable_ns.store(isOpen ? deadline_ns : Self.closed, ordering: .relaxed)
        }
        return engine.setOwned(timer, deadline_ns: deadline_ns, tolerance_ns: state.leeway_ns, core.time.now_ns)
    }

    package func laterDeadline() -> Int64? {
        let before_ns = state.ticks.deadline_ns
        close()
        let later_ns = state.ticks.deadline_ns
        guard later_ns > before_ns else { return nil }
        movable_ns.store(later_ns, ordering: .relaxed)
        return later_ns
    }

    /// On the engine's thread: a nominal deadline has come, or is about to.
    package func begin(_ now_ns: Int64, _ engine: inout EngineState) -> StagedCall? {
        // Closed once more: it may have been moved since the engine looked.
        close()
        guard state.isActive, !state.isCancelled, !state.isInFlight, state.suspensions == 0 else { return nil }
        guard state.handlers.event != nil else {
            // Nobody is told of these ticks.
            _ = Self.takeTicks(now_ns, &state)
            _ = settle(&state, &engine)
            return nil
        }
        if let submit = state.handlers.submit {
            state.isInFlight = true
            return StagedCall(submit, missedTicks: 0)
        }
        let ticksBefore = state.ticks
        guard let event = Self.takeCall(now_ns, &state) else {
            // Scheduled anew for a later deadline.
            _ = settle(&state, &engine)
            return nil
        }
        state.ticksBefore = ticksBefore
        return StagedCall(event, missedTicks: Int(clamping: state.data - 1))
    }

    package func end(wasCalled: Bool, _ engine: inout EngineState) -> Callback? {
        // It is closed: nothing opens it while a call is on its way.
        if target == nil { return endCall(wasCalled: wasCalled, &engine) }
        // What was submitted ends on its queue.
        if wasCalled { return nil }
        state.isInFlight = false
        settleUnlessPutBack(&engine)
        if !state.isCancelled { return nil }
        return Callback { [self] in onTarget { [self] in finishCancelling() } }
    }

    /// On the engine's thread, with its lock held.
    private func endCall(wasCalled: Bool, _ engine: inout EngineState) -> Callback? {
        let latch = endRunning(&state)
        if !wasCalled, let before = state.ticksBefore { state.ticks = before }
        if wasCalled { _ = settle(&state, &engine) } else { settleUnlessPutBack(&engine) }
        if latch == nil, !state.isCancelled { return nil }
        let isCancelled = state.isCancelled
        return Callback { [self] in
            latch?.open()
            if isCancelled { finishCancelling() }
        }
    }

    /// After a call that was called off: the engine puts the timer back where it was, unless somebody changed something.
    private func settleUnlessPutBack(_ engine: inout EngineState) {
        guard let timer = state.timer, !engine.schedule.isUntouchedSinceCall(timer) else { return }
        _ = settle(&state, &engine)
    }

    /// The handler has returned, or is not called after all.
    private func endRunning(_ state: inout State) -> Latch? {
        state.running = nil
        state.data = 0
        state.isInFlight = false
        return state.whileRunning.release()
    }

    /// On the target: counts the ticks that have come, and calls the handler if there are any.
    private func deliver() {
        let now_ns = core.time.now_ns
        let event = withLock { state -> Callback? in
            state.isCancelled || state.suspensions > 0 ? nil : Self.takeCall(now_ns, &state)
        }
        event?.run()
        let (latch, isCancelled, mustWake) = withLock { state, engine in
            let latch = endRunning(&state)
            return (latch, state.isCancelled, settle(&state, &engine))
        }
        if mustWake { core.wake() }
        latch?.open()
        if isCancelled { finishCancelling() }
    }

    /// None if the source was scheduled anew while the call was on its way.
    private static func takeCall(_ now_ns: Int64, _ state: inout State) -> Callback? {
        guard let ticks = takeTicks(now_ns, &state) else { return nil }
        state.isInFlight = true
        state.data = ticks
        state.running = pthread_self()
        return state.handlers.event
    }

    /// The nominal deadlines up to now; the next one stays in the state. Nil if none has come.
    private static func takeTicks(_ now_ns: Int64, _ state: inout State) -> UInt? {
        guard state.ticks.deadline_ns <= now_ns, let missed = state.repetition.begin(&state.ticks, now_ns: now_ns)
        else {
            return nil
        }
        return UInt(missed).addingReportingOverflow(1).partialValue
    }

    /// Calls the cancel handler and frees everything. Once.
    private func finishCancelling() {
        let (timer, handlers) = withLock { state in
            state.running = pthread_self()
            return Self.letGo(&state)
        }
        withExtendedLifetime(handlers) {
            handlers.cancel?.run()
            if let timer { _ = core.cancel(timer) }
        }
        let latch = withLock { state in
            state.running = nil
            return state.whileRunning.release()
        }
        latch?.open()
    }

    /// Runs a block where handlers belong. After the engine ended that is the calling thread: nothing is lost.
    private func onTarget(_ block: @escaping @Sendable () -> Void) {
        if let target {
            target(block)
        } else if !core.runSoon(block) {
            block()
        }
    }
}

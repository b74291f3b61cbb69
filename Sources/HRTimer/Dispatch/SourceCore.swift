package import Dispatch
import Glibc
import HRTimerCore
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
    nonisolated(unsafe) var state = State()

    /// The deadline that holds while the engine's timer is armed for it or for an earlier one; `closed` when the state's holds.
    ///
    /// Opened and closed with the lock held. While it is open, whoever only moves the deadline later, as keep-alives do,
    /// exchanges it and takes no lock: the engine looks here when the deadline comes that it knows. That costs it a
    /// wake-up at most once a deadline, and spares all threads the lock as often as the source is moved.
    let movable_ns = Atomic(SourceCore.closed)
    static let closed = Int64.max

    /// Where the handlers belong, if not on the engine's thread.
    package struct Target: Sendable {
        /// Nil if it is none.
        package var queue: DispatchQueue?
        /// Has a block run there.
        package let submit: @Sendable (@escaping @Sendable () -> Void) -> Void

        package init(
            queue: DispatchQueue? = nil,
            _ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
        ) {
            self.queue = queue
            self.submit = submit
        }
    }

    /// Keeps the engine running.
    private let engine: TimerEngine
    let core: EngineCore
    /// Leeway counts as none.
    private let isStrict: Bool

    struct State: Sendable {
        /// The engine's timer; nil before `register`, stale once the engine ended.
        var timer: TimerToken?
        /// The next nominal deadline that was not counted yet.
        var ticks = TickCount(deadline_ns: .max)
        /// What they were before a call was made up that may still be called off; nil once they were set anew.
        var ticksBefore: TickCount?
        var repetition = Repetition.once
        var policy = MissedTickPolicy.merge
        var leeway_ns: Int64 = 0
        /// What rings at a deadline on another clock than the engine's; nil on the engine's own.
        var alarm: SourceAlarm?
        var isActive = false
        var isCancelled = false
        /// The engine was shut down: nothing is called any more but the cancel handler of what was cancelled before.
        var hasEnded = false
        /// From the engine's firing until the handler has returned; and while the registration handler is to be called.
        var isInFlight = false
        /// The engine's own call submits one to the target. From `begin` to `end` on the engine's thread, whatever has become of
        /// the submitted one by then.
        var engineSubmits = false
        var suspensions = 0
        var data: UInt = 0
        var handlers = Handlers()
        /// The thread that runs a handler, and those who wait for it to return.
        var running: pthread_t?
        var whileRunning = WaitList()
        /// Where the handlers belong; nil for the engine's thread.
        var target: Target?
        /// For a queue, on a precise engine; nil otherwise.
        var lead: SourceLead?
        /// Nil unless somebody asked for it.
        var account: SourceAccount?
    }

    struct Handlers: Sendable {
        var event: Callback?
        var registration: Callback?
        var cancel: Callback?
        /// Submits a call to the target.
        var submit: Callback?
    }

    package init(engine: TimerEngine, target: Target?, isStrict: Bool) {
        self.engine = engine
        core = engine.core
        self.isStrict = isStrict
        state.target = target
        state.lead = lead(for: target)
    }

    private func lead(for target: Target?) -> SourceLead? {
        guard target?.queue != nil, core.precision == .precise, core.time.virtual == nil else { return nil }
        return SourceLead(budget: core.spinBudget, now_ns: core.time.now_ns)
    }

    /// For what settles, and so needs the deadline that holds.
    @inline(__always)
    func withLock<Result>(_ body: (inout State, inout EngineState) -> Result) -> Result {
        core.state.withLock { engine in
            close()
            return body(&state, &engine)
        }
    }

    @inline(__always)
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        core.state.withLock { _ in body(&state) }
    }

    /// Changes the state, arms the engine's timer accordingly, and wakes the engine if it must be.
    @inline(__always)
    func update(_ change: (inout State) -> Void) {
        let (mustWake, submit) = withLock { state, engine in
            change(&state)
            return settleOrSubmit(&state, &engine)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    /// The same for what may change nothing: then the timer keeps its place among equal deadlines. `change` tells, and leaves
    /// the ticks alone.
    func updateFlags(_ change: (inout State) -> Bool) {
        let (mustWake, submit) = core.state.withLock { engine -> (Bool, Callback?) in
            guard change(&state) else { return (false, nil) }
            close()
            return settleOrSubmit(&state, &engine)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    package func register() {
        withLock { state in state.handlers.submit = state.target.map(submission) }
        var request = EngineCore.Request()
        request.isOwned = true
        let timer = core.schedule(.staged(self), request)
        withLock { state in
            state.timer = timer
            if timer == .stale { state.hasEnded = true }
        }
    }

    private func submission(_ target: Target) -> Callback {
        Callback(submission({ [self] in deliver() }, to: target))
    }

    /// What has `block` run on the target. A virtual time waits for a queue.
    func submission(_ block: @escaping @Sendable () -> Void, to target: Target) -> @Sendable () -> Void {
        guard let virtual = core.time.virtual, let queue = target.queue else { return { target.submit(block) } }
        return {
            let turn = virtual.expectTurn("a call of a source on the queue \(queue.label)")
            target.submit { turn.run(in: virtual, block) }
        }
    }

    /// From the next call on. Nil for the engine's thread.
    package func setTarget(_ target: Target?) {
        changeTarget { _ in target }
    }

    package func changeTarget(_ change: (Target?) -> Target?) {
        let old = withLock { state in
            let old = (state.target, state.handlers.submit)
            if !state.isCancelled, !state.hasEnded {
                state.target = change(state.target)
                state.handlers.submit = state.target.map(submission)
                state.lead = lead(for: state.target)
            }
            return old
        }
        withExtendedLifetime(old) {}
    }

    /// The handle is gone: stop, and let the handlers go. What was cancelled ends by itself, with its cancel handler.
    package func abandon() {
        let left = withLock { state -> Left in
            if state.isCancelled { return Left() }
            state.isCancelled = true
            return Self.letGo(&state)
        }
        left.timer.map { _ = core.cancel($0) }
        left.alarm?.end()
    }

    /// What a source has no use for any more: freed after the lock.
    struct Left: Sendable {
        var timer: TimerToken?
        var alarm: SourceAlarm?
        var handlers = Handlers()
        var target: Target?
    }

    static func letGo(_ state: inout State) -> Left {
        defer {
            state.timer = nil
            state.alarm = nil
            state.handlers = Handlers()
            state.target = nil
        }
        return Left(timer: state.timer, alarm: state.alarm, handlers: state.handlers, target: state.target)
    }

    package func setEventHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler { $0.event = handler.map(Callback.init) }
    }

    package func setRegistrationHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler { $0.registration = handler.map(Callback.init) }
    }

    package func setCancelHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler { $0.cancel = handler.map(Callback.init) }
    }

    @inline(__always)
    private func setHandler(_ set: (inout Handlers) -> Void) {
        // What is replaced is freed after the lock: its captures may call back.
        let old = withLock { state in
            let old = state.handlers
            if !state.isCancelled, !state.hasEnded { set(&state.handlers) }
            return old
        }
        withExtendedLifetime(old) {}
    }

    package func setPolicy(_ policy: MissedTickPolicy) {
        withLock { state in
            state.policy = policy
            state.repetition = state.repetition.with(policy)
        }
    }

    package var policy: MissedTickPolicy { withLock(\.policy) }
    package var isCancelled: Bool { withLock(\.isCancelled) }
    package var data: UInt { withLock(\.data) }

    /// Nil if none is to come, and on another clock.
    package var nextDeadline_ns: Int64? {
        withLock { state, _ in
            guard state.alarm == nil, state.isActive, !state.isCancelled, !state.hasEnded else { return nil }
            return state.ticks.deadline_ns < .max ? state.ticks.deadline_ns : nil
        }
    }

    func capped(_ leeway_ns: Int64, _ repetition: Repetition) -> Int64 {
        isStrict ? 0 : repetition.tolerance_ns(asked: leeway_ns)
    }
}

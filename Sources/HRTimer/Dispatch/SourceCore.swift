#if os(Linux)
package import Dispatch
import HRTimerCore
import HRTimerLibc
import Synchronization

/// The state machine of a `TimerSource`, which is the handle that users own; the engine holds this object.
///
/// Its grid is in the engine's record of it: the next nominal deadline that was not counted yet, and the recurrence. The engine fires
/// once, and is armed again only when the handler has returned.
/// While a handler runs or is suspended nothing is armed and nothing wakes; the ticks that pass meanwhile are counted by
/// arithmetic when the next call begins. A call on a queue has the engine armed for the deadline after it at once, so that its
/// end need not wake the engine (`SourceCore+Expecting`): one wake-up at most while it runs, or waits in a blocked queue.
///
/// Its state is under the engine's lock: scheduling, which needs both, takes one lock. Nothing is called with it held.
@usableFromInline package final class SourceCore: @unchecked Sendable {
    // Sendable: all but the state is constant.

    @exclusivity(unchecked)
    // Touched only with the engine's lock held, which also makes accesses exclusive: checking each would only cost time.
    nonisolated(unsafe) var state = State()

    /// The deadline that holds while the engine's timer is armed for it or for an earlier one; `closed` when the record's holds.
    ///
    /// Opened and closed with the lock held. While it is open, a thread that only moves the deadline later, as
    /// keep-alives do, exchanges it and takes no lock: the engine looks here when the deadline comes that it knows.
    /// That costs at most one wake-up a deadline, and saves the lock at each move.
    let movable_ns = Atomic(SourceCore.closed)
    static let closed = Int64.max

    /// Where the handlers belong, if not on the engine's thread. What differs from place to place is in here, so that a kind of
    /// place is one file, which makes such a value.
    package struct Target: Sendable {
        /// Nil if it is none.
        package var queue: DispatchQueue?
        /// Threads of its own run what is submitted: virtual time waits for them, and a precise engine submits early by a
        /// learned lead. Not so a loop, which somebody runs.
        package let hasThreads: Bool
        /// Has a block run there.
        package let submit: @Sendable (@escaping @Sendable () -> Void) -> Void

        package init(
            queue: DispatchQueue? = nil,
            hasThreads: Bool = false,
            _ submit: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
        ) {
            self.queue = queue
            self.hasThreads = hasThreads || queue != nil
            self.submit = submit
        }

        var name: String { queue.map { "the queue \($0.label)" } ?? "threads of its own" }
    }

    /// Keeps the engine running, and its core.
    private let engine: TimerEngine
    var core: EngineCore { engine.core }
    /// The core's own, for the verbs: a source that is made and dropped counts one reference less.
    let engineState: LockedPlace<FiringCore>
    /// The engine's.
    let defersMoves: Bool
    /// Leeway counts as none.
    package let isStrict: Bool
    /// A copy of the state's, to be read without the lock. Set with the lock held.
    private let isCancelledForAll = Atomic(false)

    /// In an order that leaves no room between them (SourceMemoryTests). Not copied, which would count the references in it.
    struct State: ~Copyable {
        var event: Callback?
        var leeway_ns: Int64 = 0
        var data: UInt = 0
        /// Who waits for the running handler to return.
        var whileRunning = WaitList()
        /// A pointer and no object: no references are counted for it. Safe as the state is, under the engine's lock; never
        /// given out, and freed with the source.
        var extras: UnsafeMutablePointer<SourceExtras>?
        var suspensions: UInt32 = 0
        var isActive = false
        var isCancelled = false
        /// The engine was shut down: only the cancel handler of a source that was cancelled before is still called.
        var hasEnded = false
        /// The thread that runs a handler.
        var running: UnsafeRawPointer?
        /// From the engine's firing until the handler has returned; and while the registration handler is to be called.
        var isInFlight = false
        /// The engine's own call submits one to the target. From `begin` to `end` on the engine's thread, even if the
        /// submitted one has ended by then.
        var engineSubmits = false
        /// Rescheduled since its call was prepared: if that is withdrawn, there is nothing to restore.
        var isSetAnew = false
        /// The engine's timer; nil before `register` and once the source has ended, stale once the engine has.
        var timer: TimerToken?
        /// Nil for the engine's own.
        var precision: TimerPrecision?
        /// A deadline has come without an event handler: none is waited for until there is one, or another schedule.
        var isIdle = false
    }

    @inline(__always)
    package init(engine: __owned TimerEngine, target: Target?, isStrict: Bool) {
        engineState = engine.statePlace
        defersMoves = engine.defersMoves
        self.engine = engine
        self.isStrict = isStrict
        // Nobody else has it yet.
        if target != nil { set(target, &state) }
    }

    deinit { state.freeExtras() }

    private func set(_ target: Target?, _ state: inout State) {
        if target == nil, state.extras == nil { return }
        let extras = state.makeExtras()
        extras.pointee.owned.target = target
        setDelivery(&state, extras)
    }

    /// Sets how a call gets to the queue, actor or thread of the event handler.
    private func setDelivery(_ state: inout State, _ extras: UnsafeMutablePointer<SourceExtras>) {
        extras.pointee.owned.submit = submission(of: extras.pointee.owned.target, on: extras.pointee.owned.actor)
        extras.pointee.lead = lead(state)
        extras.pointee.expected_ns = .max
    }

    /// Only where the call is made on the target's thread itself: an actor is not kept busy by a spin.
    private func lead(_ state: borrowing State) -> SourceLead? {
        let isPrecise = core.precision == .precise || state.precision == .precise
        guard let target = state.target, target.hasThreads, state.actor == nil else { return nil }
        guard isPrecise, core.time.hasLeads else { return nil }
        return SourceLead(budget: core.spinBudget)
    }

    /// For callers that rearm, and so need the deadline that holds: closes the movable one.
    @inline(__always)
    func withLock<Result>(_ body: (inout State, inout FiringCore) -> Result) -> Result {
        engineState.withLock { engine in
            close(engine)
            return body(&state, &engine)
        }
    }

    /// The engine's record: nil before the first verb, and once the source or its engine has ended.
    @inline(__always)
    func record(_ state: borrowing State, _ engine: borrowing FiringCore) -> UnsafeMutablePointer<TimerRecord>? {
        guard let timer = state.timer, !engine.isShutDown else { return nil }
        return engine.record(of: timer)
    }

    @inline(__always)
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        engineState.withLock { _ in body(&state) }
    }

    /// Changes the state, arms the engine's timer accordingly, and wakes the engine if it must be.
    @inline(__always)
    func update(_ change: (inout State, UnsafeMutablePointer<TimerRecord>) -> Void) {
        let (mustWake, submit) = withLock { state, engine -> (Bool, Callback?) in
            register(&state, &engine)
            guard let record = record(state, engine) else { return (false, nil) }
            change(&state, record)
            return rearmOrSubmit(&state, &engine)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    /// The same for what may change nothing: then the timer keeps its place among equal deadlines. `change` returns
    /// whether it changed something, and leaves the ticks alone.
    func updateFlags(_ change: (inout State, inout FiringCore) -> Bool) {
        let (mustWake, submit) = engineState.withLock { engine -> (Bool, Callback?) in
            register(&state, &engine)
            guard change(&state, &engine) else { return (false, nil) }
            close(engine)
            return rearmOrSubmit(&state, &engine)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    /// Gives it a timer of the engine with the first verb, which has the lock anyway: what was only made is nobody's.
    @inline(__always)
    private func register(_ state: inout State, _ engine: inout FiringCore) {
        if state.timer == nil, !state.isCancelled, !state.hasEnded { makeTimer(&state, &engine) }
    }

    @inline(never)
    private func makeTimer(_ state: inout State, _ engine: inout FiringCore) {
        state.timer = engine.addOwned(self)
        state.hasEnded = engine.isShutDown
    }

    /// Has `deliver` called on the target, and there on the actor: the ticks that a call reports are counted where the
    /// handler runs. Nil for the engine's thread.
    private func submission(of target: Target?, on actor: (any Actor)?) -> Callback? {
        guard let actor else { return target.map { Callback(submission({ [self] in deliver() }, to: $0)) } }
        let calls = ActorCalls(merges: false)
        // By a task, also where the submitting thread is the actor's: that is in a verb of the user's, or in the call before.
        guard let target else { return Callback { [self] in calls.submit(to: actor) { [self] in deliver() } } }
        return Callback(
            submission({ [self] in calls.call(on: actor, isNamed: true) { [self] in deliver() } }, to: target)
        )
    }

    /// What has `block` run on the target. A virtual time waits for the target's threads.
    func submission(_ block: @escaping @Sendable () -> Void, to target: Target) -> @Sendable () -> Void {
        guard target.hasThreads else { return { target.submit(block) } }
        let time = core.time
        return { target.submit(time.elsewhere("a call of a source on \(target.name)", block)) }
    }

    /// From the next call on. Nil for the engine's thread.
    package func setTarget(_ target: Target?) {
        changeTarget { _ in target }
    }

    package func changeTarget(_ change: (Target?) -> Target?) {
        let old = withLock { state in
            let old = (state.target, state.submit)
            if !state.isCancelled, !state.hasEnded { set(change(old.0), &state) }
            return old
        }
        withExtendedLifetime(old) {}
    }

    /// The handle is gone: stop, and let the handlers go. What was cancelled ends by itself, with its cancel handler.
    @inline(__always)
    package func abandon() {
        if isCancelled { return }
        if UsageWarning.isLookedFor { reportIfActive() }
        end()
    }

    @inline(never)
    private func end() {
        var left = Left()
        withLock { state, engine in
            if state.isCancelled { return }
            setCancelled(&state)
            letGo(&state, &engine, &left)
        }
        finish(left)
    }

    @inline(__always)
    func setCancelled(_ state: inout State) {
        state.isCancelled = true
        // Relaxed: it publishes nothing else.
        isCancelledForAll.store(true, ordering: .relaxed)
    }

    /// What a source has no use for any more: freed after the lock.
    struct Left: ~Copyable {
        /// The source itself, as the engine had it.
        var target: TimerTarget?
        var event: Callback?
        var owned = SourceExtras.Owned()
        var mustWake = false
    }

    /// What has to be done without the lock.
    func finish(_ left: borrowing Left) {
        if left.mustWake { core.wake() }
        left.owned.alarm?.cancel()
    }

    /// The first time there is something in it. With the lock held, in which the engine's timer goes too.
    func letGo(_ state: inout State, _ engine: inout FiringCore, _ left: inout Left) {
        if let timer = state.timer.take() { left.mustWake = engine.removeOwned(timer, &left.target) }
        left.event = state.event.take()
        if let extras = state.extras { swap(&left.owned, &extras.pointee.owned) }
    }

    /// One of an actor is called on that, and the ticks are counted there.
    package func setEventHandler(_ handler: consuming Callback?, on actor: (any Actor)? = nil) {
        // What is replaced is freed after the lock: its captures may call back.
        var handler = handler
        var former: (Callback?, (any Actor)?)
        let (mustWake, submit) = engineState.withLock { engine -> (Bool, Callback?) in
            register(&state, &engine)
            if state.isCancelled || state.hasEnded { return (false, nil) }
            swap(&state.event, &handler)
            if actor != nil || state.extras != nil && state.actor != nil { former = setActor(actor, &state) }
            guard state.isIdle, state.event != nil, let record = record(state, engine) else { return (false, nil) }
            Self.forgetTicks(now_ns(state), state, record)
            state.isIdle = false
            return rearmOrSubmit(&state, &engine)
        }
        withExtendedLifetime(former) {}
        if mustWake { core.wake() }
        submit?.run()
    }

    /// Gives what that replaces, to be freed without the lock.
    private func setActor(_ actor: (any Actor)?, _ state: inout State) -> (Callback?, (any Actor)?) {
        let extras = state.makeExtras()
        defer {
            extras.pointee.owned.actor = actor
            setDelivery(&state, extras)
        }
        return (extras.pointee.owned.submit, extras.pointee.owned.actor)
    }

    package func setRegistrationHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler(handler.map(Callback.init)) { state, handler in
            if handler == nil, state.extras == nil { return }
            swap(&state.makeExtras().pointee.owned.registration, &handler)
        }
    }

    package func setCancelHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler(handler.map(Callback.init)) { state, handler in
            if handler == nil, state.extras == nil { return }
            swap(&state.makeExtras().pointee.owned.cancel, &handler)
        }
    }

    @inline(__always)
    private func setHandler(_ handler: consuming Callback?, _ swap: (inout State, inout Callback?) -> Void) {
        // What is replaced is freed after the lock: its captures may call back.
        var handler = handler
        engineState.withLock { engine in
            register(&state, &engine)
            if !state.isCancelled, !state.hasEnded { swap(&state, &handler) }
        }
    }

    package func setPolicy(_ policy: MissedTickPolicy) {
        engineState.withLock { engine in
            register(&state, &engine)
            guard let record = record(state, engine) else { return }
            record.pointee.recurrence = record.pointee.recurrence.with(policy)
        }
    }

    package func setPrecision(_ precision: TimerPrecision?) {
        updateFlags { state, engine in
            if state.precision == precision { return false }
            state.precision = precision
            state.extras?.pointee.lead = lead(state)
            if precision == nil, let timer = state.timer { engine.clearOptions(for: timer) }
            return true
        }
    }

    package var policy: MissedTickPolicy {
        engineState.withLock { engine in record(state, engine)?.pointee.recurrence.policy ?? Recurrence.once.policy }
    }

    package var precision: TimerPrecision? { withLock { $0.precision } }
    package var isCancelled: Bool { isCancelledForAll.load(ordering: .relaxed) }
    package var data: UInt { readData() }

    // For inline code of users, whose handlers read it at each fire.
    #if compiler(>=6.3)
    @section("hrt_hot_engine")
    #endif
    @usableFromInline
    func readData() -> UInt { withLock { $0.data } }

    /// Nil if none is to come, and on another clock.
    package var nextDeadline_ns: Int64? {
        withLock { state, engine in
            guard state.alarm == nil, state.isActive, !state.isCancelled, let record = record(state, engine) else {
                return nil
            }
            if state.isIdle { Self.forgetTicks(now_ns(state), state, record) }
            let deadline_ns = record.pointee.position.deadline_ns
            return deadline_ns < .max ? deadline_ns : nil
        }
    }

    func capped(_ leeway_ns: Int64, _ repetition: Recurrence) -> Int64 {
        isStrict ? 0 : repetition.tolerance_ns(asked: leeway_ns)
    }
}
#endif

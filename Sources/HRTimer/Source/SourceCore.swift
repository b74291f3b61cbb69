// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore
import HRTimerLibc
import Synchronization

/// The state machine of a `TimerSource`. Users own the `TimerSource`, which is a handle; the engine holds this object.
///
/// The source's grid is in the engine's record of its timer: the next nominal deadline that was not counted yet, and the
/// recurrence. The engine fires once, and its timer is armed again only when the handler has returned. While a handler runs, or
/// while the source is suspended, nothing is armed and nothing wakes. The next call counts by arithmetic the ticks that passed
/// meanwhile. A call on a queue is one wake-up more: its end, on another thread, wakes the engine for the following deadline.
///
/// The engine's lock guards the state, so that scheduling takes one lock for both. Nothing is called with the lock held.
@usableFromInline package final class SourceCore: @unchecked Sendable {
    // Sendable: everything but `state` is constant or atomic.

    @exclusivity(unchecked)
    // Accessed only with the engine's lock held. That also makes accesses exclusive: a check of each would only cost time.
    @safe nonisolated(unsafe) var state = State()

    /// The valid deadline while the timer is armed for it or for an earlier one; `closed` while the record has the valid one.
    ///
    /// Opened and closed with the lock held. While it is open, a thread that only moves the deadline later, as keep-alives do,
    /// exchanges this value and takes no lock. The engine reads it when the deadline that the engine knows has come. This costs
    /// at most one wake-up for each deadline, and saves the lock at each move.
    let movable_ns = Atomic(SourceCore.closed)
    static let closed = Int64.max

    /// Keeps the engine running, and its core alive.
    private let engine: TimerEngine
    var core: EngineCore { engine.core }
    /// Whether leeway counts as zero.
    package let isStrict: Bool
    /// Whether `state.life` is `cancelled`, for readers without the lock. Set with the lock held.
    private let isCancelledForAll = Atomic(false)

    /// How far a source has come. It goes back from `idle` to `active` alone. Suspensions and calls in flight are independent of it.
    enum Life: UInt8 {
        /// Not activated yet: it makes no call.
        case inactive
        case active
        /// Active, and a deadline has come without an event handler: none is waited for before a handler or a schedule is set.
        case idle
        /// The engine was shut down: it makes no call any more.
        case ended
        /// Only the cancel handler is still called.
        case cancelled

        /// Whether handlers can no longer be set.
        var isOver: Bool { rawValue >= Self.ended.rawValue }
    }

    /// The call in flight, if any. Safe: the thread's address is only compared.
    @safe enum Call {
        case none
        /// Submitted to the target, which has not begun it; or the registration handler is to be called.
        case submitted
        /// This thread runs a handler, or is about to.
        @safe case running(_ thread: UnsafeRawPointer)

        var isNone: Bool { if case .none = self { true } else { false } }
    }

    /// The order of the members leaves no padding (SourceMemoryTests). Noncopyable: a copy would count the references in it.
    @safe struct State: ~Copyable {
        var event: Callback?
        var leeway_ns: Int64 = 0
        var data: UInt = 0
        /// The threads and tasks that wait for the running handler, or for a pending cancel handler, to return.
        var whileRunning = WaitList()
        /// A pointer rather than an object, so that no references are counted for it. Safe as the state is, under the engine's
        /// lock. It is never given out, and it is freed with the source.
        @safe var extras: UnsafeMutablePointer<SourceExtras>?
        var call = Call.none
        var life = Life.inactive
        var suspensions: UInt32 = 0
        /// The engine's timer: nil before `register` and once the source has ended, stale once the engine has ended.
        var timer: TimerToken?
        /// Nil for the engine's own precision.
        var precision: TimerPrecision?
        /// The policy under which a call on a queue or an actor began, and under which it ends: the core knows nothing of that
        /// call. Nil without such a call, and if the source was scheduled since.
        var policyElsewhere: MissedTickPolicy?

        var isCancelled: Bool { life == .cancelled }
        /// Whether a call may begin once a deadline has come.
        var mayBegin: Bool { (life == .active || life == .idle) && call.isNone && suspensions == 0 }

        // Inlined, so that a new source is written once: made elsewhere, the state is written twice.
        init() {}
    }

    package init(engine: __owned TimerEngine, target: Target?, isStrict: Bool) {
        self.engine = engine
        self.isStrict = isStrict
        // No lock: no other thread has the object yet.
        if target != nil { set(target, &state) }
    }

    deinit { state.freeExtras() }

    /// Calls `body` with the lock held and the movable deadline closed, for callers that rearm and need the valid deadline.
    func withLock<Result>(_ body: (inout State, inout FiringCore) -> Result) -> Result {
        core.state.withLock { engine in
            close(engine)
            return body(&state, &engine)
        }
    }

    /// Returns the engine's record of the timer, or nil before the first verb and once the source or its engine has ended. Safe with the
    /// lock held: the record is there until the timer is removed.
    @safe func record(_ state: borrowing State, _ engine: borrowing FiringCore) -> UnsafeMutablePointer<TimerRecord>? {
        guard let timer = state.timer, !engine.isShutDown else { return nil }
        return engine.record(of: timer)
    }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        core.state.withLock { _ in body(&state) }
    }

    /// Changes the state, arms the engine's timer accordingly, and wakes the engine if necessary.
    func update(_ change: (inout State, inout FiringCore, UnsafeMutablePointer<TimerRecord>) -> Void) {
        let (mustWake, submit) = withLock { state, engine -> (Bool, Callback?) in
            register(&state, &engine)
            guard let record = record(state, engine) else { return (false, nil) }
            unsafe change(&state, &engine, record)
            return rearmOrSubmit(&state, &engine)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    /// Updates the source as `update` does, for a `change` that may change nothing: the timer then keeps its place among equal
    /// deadlines. `change` returns whether it changed something, and must leave the ticks alone.
    func updateFlags(_ change: (inout State, inout FiringCore) -> Bool) {
        let (mustWake, submit) = core.state.withLock { engine -> (Bool, Callback?) in
            register(&state, &engine)
            guard change(&state, &engine) else { return (false, nil) }
            close(engine)
            return rearmOrSubmit(&state, &engine)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    /// Adds a timer to the engine at the first verb, which takes the lock anyway. A source without a verb so far has no timer.
    private func register(_ state: inout State, _ engine: inout FiringCore) {
        if state.timer == nil, !state.life.isOver { makeTimer(&state, &engine) }
    }

    private func makeTimer(_ state: inout State, _ engine: inout FiringCore) {
        let timer = engine.addOwned(self)
        state.timer = timer
        if timer == .stale { state.life = .ended }
    }

    /// Stops a source whose handle is gone, and releases its handlers. A cancelled one ends by itself, with its cancel handler.
    package func abandon() {
        if isCancelled { return }
        if UsageWarning.isLookedFor { reportIfActive() }
        end()
    }

    private func end() {
        var left = Left()
        withLock { state, engine in
            if state.isCancelled { return }
            setCancelled(&state)
            letGo(&state, &engine, &left)
        }
        finish(left)
    }

    func setCancelled(_ state: inout State) {
        state.life = .cancelled
        // Relaxed: it publishes nothing else.
        isCancelledForAll.store(true, ordering: .relaxed)
    }

    /// Sets the event handler. With an actor the handler is called on that actor, and the ticks are counted there.
    package func setEventHandler(_ handler: consuming Callback?, on actor: (any Actor)? = nil) {
        // The replaced handler is freed after unlocking: what it captured may call back.
        var handler = handler
        var former: Former?
        let isIdle = core.state.withLock { engine in
            register(&state, &engine)
            if state.life.isOver { return false }
            swap(&state.event, &handler)
            if unsafe actor != nil || state.extras != nil && state.actor != nil { former = setActor(actor, &state) }
            return state.life == .idle
        }
        if isIdle { endIdleness() }
        _ = consume former
    }

    /// Waits for deadlines again if the source now has a handler.
    private func endIdleness() {
        let (mustWake, submit) = core.state.withLock { engine -> (Bool, Callback?) in
            guard state.life == .idle, state.event != nil, let record = record(state, engine) else {
                return (false, nil)
            }
            unsafe Self.forgetTicks(now_ns(state), state, record)
            state.life = .active
            return rearmOrSubmit(&state, &engine)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    /// What a new handler replaces beside the former one, to be freed after unlocking.
    private final class Former {
        let submit: Callback?
        let actor: (any Actor)?

        init(_ submit: Callback?, _ actor: (any Actor)?) { (self.submit, self.actor) = (submit, actor) }
    }

    private func setActor(_ actor: (any Actor)?, _ state: inout State) -> Former {
        @safe let extras = state.makeExtras()
        defer {
            extras.pointee.owned.actor = actor
            unsafe setDelivery(&state, extras)
        }
        return Former(extras.pointee.owned.submit, extras.pointee.owned.actor)
    }

    package func setRegistrationHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler(handler.map(Callback.init)) { state, handler in
            if handler == nil, unsafe state.extras == nil { return }
            swap(&state.makeExtras().pointee.owned.registration, &handler)
        }
    }

    package func setCancelHandler(_ handler: (@Sendable () -> Void)?) {
        setHandler(handler.map(Callback.init)) { state, handler in
            if handler == nil, unsafe state.extras == nil { return }
            swap(&state.makeExtras().pointee.owned.cancel, &handler)
        }
    }

    private func setHandler(_ handler: consuming Callback?, _ swap: (inout State, inout Callback?) -> Void) {
        // The replaced handler is freed after unlocking: what it captured may call back.
        var handler = handler
        core.state.withLock { engine in
            register(&state, &engine)
            if !state.life.isOver { swap(&state, &handler) }
        }
    }

    package func setPolicy(_ policy: MissedTickPolicy) {
        core.state.withLock { engine in
            register(&state, &engine)
            guard let record = record(state, engine) else { return }
            unsafe record.pointee.schedule.recurrence = record.pointee.schedule.recurrence.with(policy)
        }
    }

    package func setPrecision(_ precision: TimerPrecision?) {
        updateFlags { state, _ in
            if state.precision == precision { return false }
            state.precision = precision
            state.extras?.pointee.lead = lead(state)
            return true
        }
    }

    package var policy: MissedTickPolicy {
        core.state.withLock { engine in
            record(state, engine)?.pointee.schedule.recurrence.policy ?? Recurrence.once.policy
        }
    }

    package var precision: TimerPrecision? { withLock { $0.precision } }
    package var isCancelled: Bool { isCancelledForAll.load(ordering: .relaxed) }
    package var data: UInt { readData() }

    // Called from inlined code in users' modules: their handlers read `data` at each fire.
    @usableFromInline
    func readData() -> UInt { withLock { $0.data } }

    /// Nil if no deadline is to come, or if the deadline is on another clock than the engine's.
    package var nextDeadline_ns: Int64? {
        core.state.withLock { engine in
            guard state.alarm == nil, state.life == .active || state.life == .idle, let timer = state.timer,
                let record = record(state, engine)
            else { return nil }
            if state.life == .idle { unsafe Self.forgetTicks(now_ns(state), state, record) }
            // The movable deadline stays open: a read must not change which deadline the engine waits for and shows.
            let movable_ns = movable_ns.load(ordering: .relaxed)
            var deadline_ns = movable_ns
            if movable_ns == Self.closed {
                let following = engine.following(timer)
                deadline_ns = unsafe record.pointee.schedule.deadline_ns(
                    for: following?.deadline ?? record.pointee.schedule.position.deadline
                )
            }
            return deadline_ns < .max ? deadline_ns : nil
        }
    }

    func capped(_ leeway_ns: Int64, _ repetition: Recurrence) -> Int64 {
        isStrict ? 0 : repetition.tolerance_ns(requested: leeway_ns)
    }
}
#endif

import Glibc
import HRTimerCore
import Synchronization

/// The state machine of a `TimerSource`, which is the handle that users own; the engine holds this object.
///
/// The source keeps its own grid: the engine's timer fires once and is armed again only when the handler has returned.
/// While a handler runs, waits in a blocked queue, or is suspended, nothing is armed and nothing wakes; the ticks that pass
/// meanwhile are counted by arithmetic when the next call begins. (But see `expectEnd`.)
///
/// Its state is under the engine's lock: scheduling, which needs both, takes one lock. Nothing is called with it held. It becomes one
/// of the engine's timers with the first thing that is set on it, and is none any more when it is cancelled: to make a source takes
/// no lock, nor to let a cancelled one go.
package final class SourceCore: @unchecked Sendable {
    // Sendable: all but the state is constant or atomic.

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

    /// What the handler that runs is told; `over` when nothing is left to be ended. Written with the lock held.
    let told = Atomic<UInt>(0)
    static let over = UInt.max

    /// Keeps the engine running, and so the lock.
    private let engine: TimerEngine
    private let lock: LockReference<EngineState>
    var core: EngineCore {
        @inline(__always) get { engine.core }
    }

    struct State: Sendable {
        /// The engine's timer, if it is one of the engine's.
        var timer = TimerToken.none
        var suspensions: UInt32 = 0
        /// The next nominal deadline that was not counted yet.
        var ticks = TickCount(deadline_ns: .max)
        var leeway_ns: Int64 = 0
        /// With the policy, also of what fires once.
        var repetition = Repetition.once
        /// Leeway counts as none.
        var isStrict = false
        /// Nil for the engine's own.
        var precision: TimerPrecision?
        var flags: Flags = []
        /// What to call when the source fires.
        var event: Callback?
        /// The thread that runs a handler, or 0.
        var running: pthread_t = 0
        /// What most sources do without.
        var rare: Rare?
    }

    struct Flags: OptionSet, Sendable {
        let rawValue: UInt16

        static let isActive = Flags(rawValue: 1)
        static let isCancelled = Flags(rawValue: 2)
        /// The engine was shut down: nothing is called any more but the cancel handler of what was cancelled before.
        static let hasEnded = Flags(rawValue: 4)
        /// From the engine's firing until the handler has returned; and while the registration handler is to be called.
        static let isInFlight = Flags(rawValue: 8)
        /// The engine's own call submits one to the target. From `begin` to `end` on the engine's thread, whatever has become of
        /// the submitted one by then.
        static let engineSubmits = Flags(rawValue: 16)
        /// The ticks were set anew since a call was made up.
        static let isSetAnew = Flags(rawValue: 32)
        /// The last call was not over when the deadline after it had come.
        static let isSlow = Flags(rawValue: 64)
        /// It has a target.
        static let submits = Flags(rawValue: 128)
        /// It has an alarm, a lead or a precision: the engine's timer is not simply armed for the deadline.
        static let isSpecial = Flags(rawValue: 256)
    }

    /// Under the same lock.
    final class Rare: @unchecked Sendable {
        // Sendable: touched with the lock held alone.

        /// What rings at a deadline on another clock than the engine's; nil on the engine's own.
        var alarm: SourceAlarm?
        /// Where the handlers belong; nil for the engine's thread.
        var target: Target?
        /// For a queue, if the source or its engine is precise; nil otherwise.
        var lead: SourceLead?
        /// Nil unless somebody asked for it.
        var account: SourceAccount?
        var registration: Callback?
        var cancel: Callback?
        /// Those who wait for a handler to return.
        var whileRunning = WaitList()
    }

    package init(engine: TimerEngine, target: Target?, isStrict: Bool) {
        self.engine = engine
        lock = engine.core.state.reference
        state.isStrict = isStrict
        // Nobody else has it yet.
        if let target {
            _ = set(target)
            if state.rare?.lead != nil { state.flags.insert(.isSpecial) }
        }
    }

    /// With the lock held. Gives the former target.
    func set(_ target: Target?) -> Target? {
        let rare = state.rarely
        let old = rare.target
        rare.target = target
        rare.lead = lead(for: target)
        if target == nil { state.flags.remove(.submits) } else { state.flags.insert(.submits) }
        return old
    }

    /// With the lock held, after the alarm, the lead or the precision changed.
    func noteSpecial(_ engine: inout EngineState) {
        if state.precision != nil || state.rare?.alarm != nil || state.rare?.lead != nil {
            state.flags.insert(.isSpecial)
        } else if state.flags.contains(.isSpecial) {
            state.flags.remove(.isSpecial)
            if !state.timer.isNone, !engine.isShutDown { engine.schedule.ask(.init(), for: state.timer) }
        }
    }

    func lead(for target: Target?) -> SourceLead? {
        let isPrecise = state.precision == .precise || core.precision == .precise
        guard target?.queue != nil, isPrecise, core.time.virtual == nil else { return nil }
        return SourceLead(budget: core.spinBudget, now_ns: core.time.now_ns)
    }

    /// The state is used in place, and not handed on as an argument: it is one variable, whoever changes it.
    @inline(__always)
    func withLock<Result>(_ body: (inout EngineState) -> Result) -> Result {
        lock.withLock { engine in body(&engine) }
    }

    /// Changes the state, if it is to be changed, arms the engine's timer accordingly, and wakes the engine if it must be. Where
    /// nothing is changed the timer keeps its place among equal deadlines.
    @inline(__always)
    func update(_ change: (inout EngineState) -> Bool) {
        let (mustWake, submit) = withLock { engine -> (Bool, Callback?) in
            close()
            return change(&engine) ? settleOrSubmit(&engine) : (false, nil)
        }
        if mustWake { core.wake() }
        submit?.run()
    }

    /// With the lock held: becomes one of the engine's timers, unless it is, or has ended.
    @inline(__always)
    func register(_ engine: inout EngineState) {
        if state.timer.isNone { registerFirst(&engine) }
    }

    @inline(never)
    private func registerFirst(_ engine: inout EngineState) {
        if state.isCancelled || state.hasEnded { return }
        state.timer = engine.addOwned(self)
        if state.timer.isNone { state.flags.insert(.hasEnded) }
    }

    /// The handle is gone: stop, and let the handlers go. What was cancelled ends by itself, with its cancel handler.
    package func abandon() {
        if told.load(ordering: .acquiring) == Self.over { return }
        var left = Left()
        withLock { engine in
            if state.isCancelled { return }
            state.flags.insert(.isCancelled)
            letGo(&engine, &left)
        }
        left.end(core)
    }

    /// What a source has no use for any more: freed after the lock.
    struct Left: ~Copyable {
        var event: Callback?
        /// Itself as the engine held it.
        var action: EngineCore.Action?
        var rest: Rest?
        var mustWake = false

        /// After the lock.
        @inline(__always)
        borrowing func end(_ core: @autoclosure () -> EngineCore) {
            if mustWake { core().wake() }
            if let rest { rest.alarm?.end() }
        }
    }

    /// Of what most sources do without.
    struct Rest {
        var alarm: SourceAlarm?
        var target: Target?
        var registration: Callback?
        var cancel: Callback?
    }

    /// With the lock held. The first time there is something in it.
    @inline(__always)
    func letGo(_ engine: inout EngineState, _ left: inout Left) {
        left.mustWake = engine.removeOwned(state.timer, &left.action)
        state.timer = .none
        swap(&left.event, &state.event)
        if let rare = state.rare { left.rest = Self.rest(rare) }
        told.store(Self.over, ordering: .releasing)
    }

    @inline(never)
    private static func rest(_ rare: Rare) -> Rest {
        Rest(
            alarm: rare.alarm.take(),
            target: rare.target.take(),
            registration: rare.registration.take(),
            cancel: rare.cancel.take()
        )
    }

    func capped(_ leeway_ns: Int64, _ repetition: Repetition) -> Int64 {
        state.isStrict ? 0 : repetition.tolerance_ns(asked: leeway_ns)
    }
}

extension SourceCore.State {
    var isCancelled: Bool { flags.contains(.isCancelled) }
    var hasEnded: Bool { flags.contains(.hasEnded) }
    var isInFlight: Bool {
        get { flags.contains(.isInFlight) }
        set { if newValue { flags.insert(.isInFlight) } else { flags.remove(.isInFlight) } }
    }

    /// Whether a call may be made at the deadline.
    @inline(__always)
    var mayFire: Bool {
        flags.isDisjoint(with: [.isCancelled, .isInFlight]) && flags.contains(.isActive) && suspensions == 0
    }

    /// What most sources do without, made when it is needed first.
    var rarely: SourceCore.Rare {
        mutating get {
            if let rare { return rare }
            let made = SourceCore.Rare()
            rare = made
            return made
        }
    }
}

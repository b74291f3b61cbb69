// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc
import Synchronization

/// The engine proper. `TimerEngine` is the handle that users own; the thread holds this object instead, so that releasing
/// the handle can end the thread.
///
/// The lock of `state` guards all of the `FiringCore`, and the state of each source on this engine. No other lock is taken while
/// it is held, except the one of a `ClockAlarm`'s engine. It may be taken inside the lock of `moved`; the locks of `thread` and
/// `leads` are not held together with any other.
package final class EngineCore: Sendable {
    package let time: TimeBase
    /// Whether a source may move its deadline later without telling the core, which looks it up when the former one comes.
    package let defersMoves: Bool
    let configuration: TimerEngine.Configuration
    private let waiter: Waiter
    /// Whether others can have the thread woken at a deadline instead of now: not if it spins, coalesces or wakes the system.
    private let wakesLater: Bool
    /// The number of calls that other threads made elsewhere, at once and without a lock.
    private let callsElsewhere = Atomic<UInt64>(0)
    private let isOver = Atomic(false)
    /// Open to the faces of this package: a face that keeps its own state under this lock needs no second one. Wakes that
    /// the state requires are sent by `wake()`, after unlocking.
    package let state: Locked<FiringCore>
    /// On virtual time, the point at which the engine has stopped.
    let moved = Locked(MovedThread())
    let commit: FireCommit
    package let observer: ObserverPlace
    private let thread = Locked(EngineThread())
    private let hasSettingResults = Latch()
    private let generation = hrt_fork_generation()
    /// Recorded into by the engine's thread alone.
    let wakeLatency = LatencyHistogram()
    /// Touched by the engine's thread alone.
    let window: SpinWindow
    /// How much may be spun for the engine's timers, on its thread and on others.
    package let spinBudget: SpinBudget
    /// The total time that other threads have spun on the engine's account.
    let spunOutside_ns = Atomic<Int64>(0)
    /// The leads: how long it takes from an early call until its task continues elsewhere. Nil on an engine that makes no
    /// call early.
    let leads: Locked<SpinWindow>?

    package init(_ configuration: TimerEngine.Configuration) throws(TimerError) {
        self.configuration = configuration
        time = configuration.time.on(configuration.clock)
        observer = ObserverPlace(configuration.latenessWatch.map(LatenessWatcher.init))
        defersMoves = configuration.defersMoves ?? true
        waiter = try Waiter(configuration.parkStrategy, clock: configuration.clock)
        wakesLater =
            configuration.parkStrategy == .timerfd && configuration.precision == .normal
            && !configuration.realTime.wakesSystem
        let initial = FiringCore(precision: configuration.precision, now_ns: time.now_ns)
        commit = initial.commit
        state = Locked(initial)
        spinBudget = configuration.commonSpinBudget ?? SpinBudget.of(configuration.spinBudget, configuration.time)
        window = SpinWindow(budget: spinBudget, coverage: configuration.spinCoverage)
        leads = Self.leads(configuration, time, spinBudget)
    }

    convenience init(started configuration: TimerEngine.Configuration) throws(TimerError) {
        try self.init(configuration)
        try start()
    }

    package func start() throws(TimerError) {
        try time.run(self) {
            clockHasMoved()
            hasSettingResults.open()
        } onThread: { () throws(TimerError) in
            // Under the lock, so that a handler that ends the engine finds its thread.
            try thread.withLock { thread throws(TimerError) in
                thread.handle = try startThread { [self] in run() }
                thread.hasEnded = Latch()
            }
        }
    }

    /// Whether this is a child of fork(2), where the thread does not exist: there the engine has ended.
    package var isInForkedChild: Bool { generation != hrt_fork_generation() }

    package var precision: TimerPrecision { configuration.precision }

    /// Whether the engine has, or had, a thread of its own.
    var hasThread: Bool { thread.withLock { $0.hasEnded != nil } }

    /// Whether the calling thread is the one that runs handlers; on virtual time, whether it runs one now. False in a
    /// forked child, which does not have the thread.
    package var isOnItsThread: Bool {
        if isInForkedChild { return false }
        if let itself = thread.withLock(\.itself) { return isCurrent(itself) }
        return state.withLock { !$0.isSpinning && $0.running.map { isCurrent($0.thread) } ?? false }
    }

    var isShutDown: Bool { state.withLock { $0.isShutDown } }

    /// Whether the engine has ended. Any thread, without a lock.
    package var hasEnded: Bool { isOver.load(ordering: .acquiring) || isInForkedChild }

    package var liveTimers: Int { state.withLock { $0.liveTimers } }
    package var statistics: TimerStatistics {
        var statistics = state.withLock { $0.account.statistics }
        statistics.lateness = observer.statistics
        statistics.fires += callsElsewhere.load(ordering: .relaxed)
        statistics.spinTime += .nanoseconds(spunOutside_ns.load(ordering: .relaxed))
        window.describe(in: &statistics)
        return statistics
    }
    package var latenessSoFar: LatencyHistogram {
        state.withLock { $0.account.latenessSoFar }
    }
    package var wakeLatencySoFar: LatencyHistogram { wakeLatency.copy() }

    /// The results of the settings. Waits until the thread has requested these, which it does first of all.
    package var settingResults: [SettingResult] {
        hasSettingResults.wait()
        return thread.withLock { $0.settingResults }
    }

    package func awaitSettingResults() async -> [SettingResult] {
        await hasSettingResults.opened()
        return thread.withLock { $0.settingResults }
    }
}

// Any thread.
extension EngineCore {
    /// Adds a timer, and wakes the thread if it must. Returns a stale token if the engine has ended.
    package func schedule(_ target: TimerTarget, _ request: TimerRequest) -> TimerToken {
        let deadline_ns = request.schedule.deadline_ns
        let (token, mustWake, canWait) = state.withLock { state -> (TimerToken, Bool, Bool) in
            if state.isShutDown { return (.stale, false, false) }
            state.lookAgain(deadline_ns, time.now_ns)
            let token = state.add(target, request)
            let mustWake = deadline_ns < .max && state.mustWake(for: token, deadline_ns, time.now_ns)
            // A thread that sleeps by timerfd need not be woken now to sleep less: that would be two wake-ups for one deadline.
            let canWait = mustWake && wakesLater && request.precision != .precise
            if canWait { state.park(until: Park(until_ns: deadline_ns)) }
            return (token, mustWake, canWait)
        }
        if token == .stale { return .stale }
        observer.reports?.noteArmed(token)
        if mustWake, !canWait || !waiter.wake(at: deadline_ns) { wake() }
        return token
    }

    /// Returns true if a call for that deadline, which is to be made elsewhere, may be made at once by the calling thread.
    /// It then counts as a fire.
    package func mayCallElsewhere(_ deadline_ns: Int64) -> Bool {
        guard deadline_ns <= time.now_ns, !hasEnded else { return false }
        callsElsewhere.wrappingAdd(1, ordering: .relaxed)
        return true
    }

    /// Arms a timer or moves it. Returns false if the token is stale, or if `isWanted`, which is asked with the lock held, says no.
    package func arm(
        _ token: TimerToken,
        deadline_ns: Int64,
        roundedUp_as: UInt32 = 0,
        interval: RescheduledInterval = .same,
        ifStill isWanted: (borrowing FiringCore) -> Bool = { _ in true }
    ) -> Bool {
        let deadline = ExactInstant(deadline_ns, roundedUp_as: roundedUp_as)
        let mustWake = state.withLock { state in
            isWanted(state) ? state.reschedule(token, to: deadline, interval: interval, time.now_ns) : nil
        }
        guard let mustWake else { return false }
        if mustWake { wake() }
        observer.reports?.noteArmed(token)
        return true
    }

    /// Arms a timer or moves it to `delay` from now, exactly. Returns false if the token is stale.
    func arm(_ token: TimerToken, after delay: some TimeSpan) -> Bool {
        let deadline = deadline(after: delay)
        return arm(token, deadline_ns: deadline.rounded_ns, roundedUp_as: deadline.roundedUp_as)
    }

    /// Returns the deadline `delay` from now on the engine's clock; NaN means now.
    func deadline(after delay: some TimeSpan) -> ExactInstant {
        var deadline = ExactInstant(time.now_ns)
        if let delay = delay.asDuration { deadline.advance(by: ExactInterval(delay)) }
        return deadline
    }

    /// Returns the timer's deadline; nil if the token is stale.
    func deadline_ns(of token: TimerToken) -> Int64? { state.withLock { $0.deadline_ns(of: token) } }

    /// Wakes the thread. To be called after unlocking, when a function of the core has said that the thread must be woken.
    package func wake() {
        waiter.wake()
        time.hasWoken(self)
    }

    /// Runs `block` on the engine's thread, after everything that is due already. Returns false if the engine has ended:
    /// `block` will not run.
    package func runSoon(_ block: @escaping @Sendable () -> Void) -> Bool {
        var request = TimerRequest()
        request.deadline_ns = time.now_ns
        return schedule(.handler { _ in block() }, request) != .stale
    }

    /// Cancels a timer. Returns true if the timer is not called for its deadline, and never will be.
    package func cancel(_ token: TimerToken) -> Bool {
        // Safe: not used after `unlock()`.
        @safe let state = unsafe self.state.lock()
        let cancelled = state.pointee.cancel(token)
        self.state.unlock()
        if cancelled.mustWake { wake() }
        return cancelled.wasPending
    }

    /// Returns when the timer's handler is not running. Returns at once if called in the handler itself.
    package func waitUntilNotRunning(_ token: TimerToken) {
        while let latch = state.withLock({ $0.joinCall(of: token) }) { latch.wait() }
    }

    package func untilNotRunning(_ token: TimerToken) async {
        while let latch = state.withLock({ $0.joinCall(of: token) }) { await latch.opened() }
    }

    /// Ends the engine and, unless called on its thread, waits for the thread's end. Returns how many timers of users it drops.
    @discardableResult
    package func shutdown() -> Int {
        // Data that the missing thread was changing cannot be freed: it leaks, in the child alone.
        if isInForkedChild { return 0 }
        isOver.store(true, ordering: .releasing)
        // Safe: not used after `unlock()`.
        @safe let state = unsafe self.state.lock()
        let dropped = state.pointee.pendingTimers
        let ended = state.pointee.end()
        self.state.unlock()
        wake()
        let (toJoin, hasEnded) = thread.withLock { $0.end() }
        if let toJoin {
            if isCurrent(toJoin) {
                pthread_detach(toJoin)
            } else {
                pthread_join(toJoin, nil)
            }
        } else {
            hasEnded?.wait()
        }
        for owner in ended.owners { owner.coreHasEnded() }
        return dropped
    }
}

/// An engine's record of its thread.
private struct EngineThread: Sendable {
    /// Nil before the thread starts, and once somebody joins it.
    var handle: pthread_t?
    /// Set by the thread itself when it begins.
    var itself: pthread_t?
    var settingResults: [SettingResult] = []
    /// Opened by the thread itself as its last action; nil if there is no thread.
    var hasEnded: Latch?

    /// Returns the thread that the caller has to join, if any, and the latch that it has to wait for otherwise.
    mutating func end() -> (toJoin: pthread_t?, hasEnded: Latch?) {
        let isItself = itself.map(isCurrent) ?? false
        return (handle.take(), isItself ? nil : hasEnded)
    }
}

// The engine's thread.
extension EngineCore {
    private func run() {
        let settings = AppliedSettings(configuration.realTime, threadName: configuration.name, waiter)
        let hasEnded = thread.withLock { thread in
            thread.itself = pthread_self()
            thread.settingResults = settings.settingResults
            return thread.hasEnded
        }
        hasSettingResults.open()
        serve(settings.wakeLatency)
        settings.giveBack()
        hasEnded?.open()
    }

    /// Runs the engine on its thread until the engine ends.
    private func serve(_ wakeLatency: WakeLatency?) {
        var fire = Fire()
        var slept = Slept()
        while case .parked(let park) = turn(slept, &fire) { slept = sleep(until: park, wakeLatency) }
    }

    /// The outcome of a sleep.
    struct Slept {
        /// Callbacks up to this instant are prepared now and wait for their deadlines: the thread is awake before these.
        var horizon_ns = Int64.min
        /// The deadline until which the thread slept, if it has come.
        var deadline_ns: Int64?
        /// Whether the thread did not sleep at all, but spun.
        var isAwake = false
    }

    /// How a turn ends.
    enum TurnEnd {
        case ended
        case parked(Park)
        /// A call is prepared, and the clock must be moved to its deadline first.
        case prepared
    }

    private func sleep(until park: Park, _ wakeLatency: WakeLatency?) -> Slept {
        hrt_probe_park(park.until_ns, park.isPrecise ? 1 : 0)
        observer.value?.willPark(park)
        let isWoken = wakeLatency.map { boundLatency($0, park) } ?? false
        let slept = isWoken ? Slept() : wait(until: park)
        observer.value?.didWake(from: park)
        hrt_probe_wake(park.until_ns, park.isPrecise ? 1 : 0)
        return slept
    }

    private func wait(until park: Park) -> Slept {
        guard park.isPrecise else {
            return waiter.wait(until: park.until_ns) ? Slept() : Slept(deadline_ns: park.until_ns)
        }
        window.noteUse()
        if waiter.waitToSpinWindow(before: park.until_ns, window) { return Slept() }
        if let latency_ns = window.takeLatency() { wakeLatency.record(latency_ns) }
        return Slept(horizon_ns: park.until_ns)
    }

    /// Bounds the processors' wake latency if a precise timer is due soon. Returns true if woken before the sleep itself.
    private func boundLatency(_ wakeLatency: WakeLatency, _ park: Park) -> Bool {
        let precise_ns = state.withLock { $0.nextPrecise_ns }
        return wakeLatency.holdIfSoon(precise_ns, now_ns: time.now_ns, until_ns: park.until_ns, waiter.wait)
    }

    /// Makes all calls that are due by `limit_ns`, and those that will be due by the horizon, each at its time.
    ///
    /// A call takes the lock twice: to prepare it, and to finish it. If finishing leaves nothing to do without the lock,
    /// the next call is prepared in the same critical section.
    func turn(_ slept: Slept, limit_ns: Int64 = .max, _ fire: inout Fire) -> TurnEnd {
        var now_ns = time.now_ns
        if let deadline_ns = slept.deadline_ns { wakeLatency.record(now_ns.subtractingSaturating(deadline_ns)) }
        // Safe: not used between `unlock()` and the next `lock()`.
        @safe var state = unsafe self.state.lock()
        if !slept.isAwake { state.pointee.wakeUp() }
        while true {
            let poll = state.pointee.poll(now_ns, horizon_ns: slept.horizon_ns, limit_ns: limit_ns, &fire)
            self.state.unlock()
            switch poll {
            case .ended: return .ended
            case .park(let park): return .parked(park)
            case .again: break
            case .fire:
                guard let (wasCalled, spun_ns) = make(&fire) else { return .prepared }
                now_ns = time.now_ns
                if configuration.isShared { lookAtTimeTaken(now_ns, fire) }
                state = unsafe self.state.lock()
                if !state.pointee.finish(&fire, now_ns, wasCalled: wasCalled, spun_ns: spun_ns) { continue }
                self.state.unlock()
                fire.letGo()
            }
            now_ns = time.now_ns
            state = unsafe self.state.lock()
        }
    }

    /// Warns in debug builds of a slow handler: it makes everybody's timers late.
    private func lookAtTimeTaken(_ now_ns: Int64, _ fire: borrowing Fire) {
        // A call that was prepared before its deadline first spun up to the deadline.
        let taken_ns = now_ns.subtractingSaturating(max(fire.begun_ns, fire.deadline_ns))
        time.lookForMisuse { UsageWarning.reportIfSlow(taken_ns, onSharedEngine: name) }
    }

    /// Makes the call unless it is withdrawn: at its deadline, if that has not come yet. Returns whether it was made and
    /// how long the thread spun; nil if the clock must be moved to the deadline first.
    func make(_ fire: inout Fire) -> (wasCalled: Bool, spun_ns: Int64)? {
        var now_ns = fire.begun_ns
        var spun_ns: Int64 = 0
        if fire.isBeforeDeadline {
            guard let isCommitted = commitAtDeadline(&fire, &now_ns, &spun_ns) else { return nil }
            if !isCommitted { return (false, spun_ns) }
        }
        fire.deliver(now_ns, on: time, observer.value)
        return (true, spun_ns)
    }

    /// Spins up to the deadline, but for the last part, and commits the call. Returns false if the call is withdrawn; nil
    /// if the clock must be moved to the deadline first.
    private func commitAtDeadline(_ fire: inout Fire, _ now_ns: inout Int64, _ spun_ns: inout Int64) -> Bool? {
        if !fire.isEarly {
            let spin = time.spin(until: fire.place_ns, from: now_ns) {
                waiter.spin(until: fire.place_ns - lastSpin_ns, window)
            }
            guard let spin else { return nil }
            (now_ns, spun_ns) = (spin.now_ns, spin.spun_ns)
            if spin.isWoken { _ = commit.withdraw() }
        }
        guard commit.commit() else { return false }
        hrt_probe_commit(fire.token.slot, fire.deadline_ns)
        if !fire.isEarly, fire.place_ns > now_ns {
            spinBudget.spend(fire.place_ns - now_ns)
            spun_ns += fire.place_ns - now_ns
        }
        return true
    }

    /// The part of a spin that is left to the call itself. 0 if the clock can be set back meanwhile.
    private var lastSpin_ns: Int64 { time.clock == .monotonic ? Fire.lastSpin_ns : 0 }
}
#endif

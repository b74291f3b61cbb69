import CHRTimer
import Glibc

/// The engine proper. `TimerEngine` is the handle that users own; the thread holds this object, so that dropping the handle
/// can end the thread.
package final class EngineCore: Sendable {
    package typealias Handler = @Sendable (TimerFire) -> Void

    package let time: TimeBase
    private let name: String
    private let waiter: Waiter
    private let state = Locked(State())

    /// Where a timer is in its life: without a deadline; in the queue; in a batch that is being fired; or at its last
    /// deadline with the handler running, which may still arm or disarm it.
    private enum Phase { case idle, armed, due, firing }

    private struct Timer: Sendable {
        var handler: Handler
        var repetition: Repetition
        var tolerance_ns: Int64 = 0
        var phase = Phase.idle
        /// Stays after its last fire: its owner arms it again.
        var isOwned: Bool
        /// Ticks without a call since the last one, for `MissedTickPolicy.skip`.
        var skipped = 0
    }

    private struct State: ~Copyable, Sendable {
        var timers = PendingTimers<Timer>()
        /// What the thread sleeps until. `.min` while it is awake: whoever arms need not wake it then.
        var sleepsUntil_ns = Int64.min
        /// The timer whose handler runs, and the thread that runs it.
        var running: (token: TimerToken, thread: pthread_t)?
        /// Threads that wait for the running handler to return.
        var runningWaiters: [Waiter] = []
        var isShutDown = false
        var thread: pthread_t?
        var statistics = EngineStatistics()
    }

    package init(_ configuration: TimerEngine.Configuration) throws(TimerError) {
        time = configuration.time
        name = configuration.name
        waiter = try Waiter(configuration.wayToWait)
    }

    package func start() throws(TimerError) {
        if let virtual = time.virtual {
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

    package func schedule(
        _ deadline_ns: Int64,
        _ repetition: Repetition,
        tolerance_ns: Int64 = 0,
        _ handler: @escaping Handler
    ) -> TimerToken {
        let (token, mustWake) = state.withLock { state -> (TimerToken, Bool) in
            if state.isShutDown { return (.stale, false) }
            var timer = Timer(handler: handler, repetition: repetition, isOwned: false)
            timer.tolerance_ns = tolerance_ns
            let token = state.timers.add(timer)
            Self.arm(token, deadline_ns, &state)
            return (token, Self.mustWake(for: deadline_ns, &state))
        }
        if mustWake { waiter.wake() }
        return token
    }

    /// A timer that stays until `cancel`, however often it fires; not armed yet. Nil after shutdown.
    package func makeOwned(_ handler: @escaping Handler) -> TimerToken? {
        state.withLock { state in
            if state.isShutDown { return nil }
            return state.timers.add(Timer(handler: handler, repetition: .once, isOwned: true))
        }
    }

    /// Arms a timer or moves it, with a new tolerance if one is given. False if the token is stale.
    package func arm(_ token: TimerToken, deadline_ns: Int64, tolerance_ns: Int64? = nil) -> Bool {
        let (isLive, mustWake) = state.withLock { state -> (Bool, Bool) in
            guard state.timers.isLive(token) else { return (false, false) }
            if let tolerance_ns { state.timers.records[token.slot].tolerance_ns = tolerance_ns }
            Self.arm(token, deadline_ns, &state)
            return (true, Self.mustWake(for: deadline_ns, &state))
        }
        if mustWake { waiter.wake() }
        return isLive
    }

    /// Runs `block` on the engine's thread, after what is due already. False if the engine has ended: it will not run.
    package func runSoon(_ block: @escaping @Sendable () -> Void) -> Bool {
        schedule(time.now_ns, .once) { _ in block() } != .stale
    }

    /// Takes back the deadline of a timer, which stays live.
    package func disarm(_ token: TimerToken) {
        state.withLock { state in
            guard state.timers.isLive(token) else { return }
            state.timers.disarm(token)
            state.timers.records[token.slot].phase = .idle
        }
    }

    package func cancel(_ token: TimerToken) -> Bool {
        // The record is let go after the lock: freeing what the handler captured may call back into this engine.
        let timer = state.withLock { $0.timers.remove(token) }
        return timer != nil
    }

    /// Returns when the timer's handler is not running. At once on the engine's own thread.
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
        let (thread, timers) = state.withLock { state -> (pthread_t?, [Timer]) in
            let thread = state.thread
            state.thread = nil
            state.isShutDown = true
            return (thread, state.timers.end())
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

    private static func arm(_ token: TimerToken, _ deadline_ns: Int64, _ state: inout State) {
        let tolerance_ns = state.timers.records[token.slot].tolerance_ns
        state.timers.arm(token, deadline_ns: deadline_ns, tolerance_ns: tolerance_ns)
        state.timers.records[token.slot].phase = .armed
    }

    /// Whether the thread sleeps too long for `deadline_ns`. If so it counts as awake from now on, so that further deadlines
    /// send no second wake.
    private static func mustWake(for deadline_ns: Int64, _ state: inout State) -> Bool {
        guard deadline_ns < state.sleepsUntil_ns else { return false }
        state.sleepsUntil_ns = .min
        state.statistics.wakesSent += 1
        return true
    }
}

// The engine's thread.
extension EngineCore {
    private static let batchSize = 64

    private func run() {
        name.withCString { hrt_thread_set_name($0) }
        // Cannot fail: 1 is within the range.
        _ = hrt_thread_set_timer_slack_ns(1)
        withUnsafeTemporaryAllocation(of: hrt_due.self, capacity: Self.batchSize) { batch in
            while let next_ns = turn(batch) {
                waiter.wait(until: next_ns)
            }
        }
    }

    /// Fires all that is due. Gives the next deadline to wait for, or nil when the engine has ended.
    private func turn(_ batch: UnsafeMutableBufferPointer<hrt_due>) -> Int64? {
        var isFirst = true
        while true {
            let now_ns = time.now_ns
            let outcome = state.withLock { state -> Outcome in
                if state.isShutDown { return .ended }
                let count = Self.takeDue(now_ns, batch, &state)
                if isFirst {
                    state.statistics.wakeups += 1
                    if count == 0 { state.statistics.spuriousWakeups += 1 }
                    isFirst = false
                }
                if count > 0 {
                    state.sleepsUntil_ns = .min
                    return .due(count)
                }
                state.sleepsUntil_ns = state.timers.next_ns
                return .sleep(until_ns: state.sleepsUntil_ns)
            }
            switch outcome {
            case .ended: return nil
            case .sleep(let until_ns): return until_ns
            case .due(let count): fire(UnsafeMutableBufferPointer(rebasing: batch[..<count]), now_ns)
            }
        }
    }

    private enum Outcome { case ended, sleep(until_ns: Int64), due(Int) }

    /// Takes a batch out of the queue and marks its timers, so that a cancel or a new deadline before their turn is seen.
    private static func takeDue(
        _ now_ns: Int64,
        _ batch: UnsafeMutableBufferPointer<hrt_due>,
        _ state: inout State
    ) -> Int {
        let count = state.timers.takeDue(now_ns: now_ns, into: batch)
        for due in batch[..<count] { state.timers.records[due.token.slot].phase = .due }
        return count
    }

    /// Calls the handlers of a batch in order. No lock is held while one runs.
    private func fire(_ batch: UnsafeMutableBufferPointer<hrt_due>, _ now_ns: Int64) {
        for due in batch {
            let token = TimerToken(due.token)
            let call = state.withLock { Self.begin(token, due.deadline_ns, now_ns, &$0) }
            guard let call else { continue }
            call.handler(call.fire)
            let ended = state.withLock { state -> Ended in
                state.running = nil
                let waiters = state.runningWaiters
                state.runningWaiters = []
                return Ended(timer: finish(token, &state), waiters: waiters)
            }
            for waiter in ended.waiters { waiter.wake() }
        }
    }

    private struct Call {
        var handler: Handler
        var fire: TimerFire
    }

    /// What is let go only after the lock.
    private struct Ended {
        var timer: Timer?
        var waiters: [Waiter]
    }

    /// Sets the next deadline and gives the call to make: nil if the timer was cancelled, moved or disarmed since it was
    /// taken, or if the policy leaves this tick out.
    private static func begin(
        _ token: TimerToken,
        _ deadline_ns: Int64,
        _ now_ns: Int64,
        _ state: inout State
    ) -> Call? {
        guard state.timers.isLive(token), state.timers.records[token.slot].phase == .due else { return nil }
        let timer = state.timers.records[token.slot]
        let tick = timer.repetition.tick(deadline_ns: deadline_ns, now_ns: now_ns)
        state.timers.records[token.slot].phase = .firing
        if let next_ns = tick.next_ns { arm(token, next_ns, &state) }
        guard tick.isCalled else {
            state.timers.records[token.slot].skipped += tick.missed
            return nil
        }
        state.timers.records[token.slot].skipped = 0
        state.running = (token, pthread_self())
        state.statistics.fires += 1
        let fire = TimerFire(
            token: token,
            deadline_ns: deadline_ns,
            firedAt_ns: now_ns,
            missedTicks: tick.missed + timer.skipped
        )
        return Call(handler: timer.handler, fire: fire)
    }

    /// After the call: a fixed delay starts now, and a timer that will not fire again is given back to be freed.
    private func finish(_ token: TimerToken, _ state: inout State) -> Timer? {
        guard state.timers.isLive(token), state.timers.records[token.slot].phase == .firing else { return nil }
        state.timers.records[token.slot].phase = .idle
        let timer = state.timers.records[token.slot]
        if timer.repetition.repeats {
            if timer.repetition.policy == .delay {
                Self.arm(token, time.now_ns.addingSaturating(timer.repetition.interval_ns), &state)
            }
            return nil
        }
        return timer.isOwned ? nil : state.timers.remove(token)
    }
}

extension EngineCore: VirtualTimeParticipant {
    /// None while a handler runs: one that moves the clock is a slow handler, and an engine has but one thread.
    package var nextDeadline_ns: Int64 {
        state.withLock { $0.isShutDown || $0.running != nil ? .max : $0.timers.next_ns }
    }

    package func runDue() {
        withUnsafeTemporaryAllocation(of: hrt_due.self, capacity: Self.batchSize) { batch in
            _ = turn(batch)
        }
    }
}

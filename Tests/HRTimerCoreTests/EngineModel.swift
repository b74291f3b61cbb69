// SPDX-License-Identifier: Apache-2.0
import HRTimerCore

/// A model of engines on a frozen clock, in arrays that are searched linearly. Written from these rules, not from the engine:
///
/// * Time moves to the earliest wake of all engines; among equal ones, to that of the engine that was made first. An engine
///   whose handler is running has no wake.
/// * On a coalesced engine a wake is the earliest end of a window, for timers that request no higher precision; elsewhere it is
///   a deadline.
/// * An engine that is awake calls the timers that were due when it woke, and those that its handlers arm for instants up to
///   then, in the order of (deadline, sequence). A timer armed for an instant that the engine has passed, as also by a late burst,
///   is ordered as if its deadline were the engine's latest reading of the clock. The end of its window stays.
/// * Lateness and missed ticks are measured with the clock's reading before each call.
/// * Advancing the clock fires the timers that fall due by the instant to which it is advanced. If handlers advance it further,
///   those due by the instant reached after that fire too, and no others.
/// * A repeating timer is armed for its next tick when its handler returns, unless the handler has moved it.
final class EngineModel: EngineWorld {
    private struct Timer {
        let plan: TimerPlan
        var isLive = true
        /// Nil while the timer is not armed.
        var deadline_ns: Int64?
        var sequence = 0
        /// Its deadline in the order of calls: never before the engine's latest reading of the clock.
        var place_ns: Int64 = 0
        var isRunning = false
        var wasMovedByHandler = false
        var unreported = 0
        var calls = 0

        var isInLastCall: Bool { isRunning && plan.interval_ns == nil && deadline_ns == nil }
    }

    private struct Engine {
        let precision: TimerPrecision
        var isRunning = false
        /// The engine's latest reading of the clock; `.min` while it sleeps.
        var looked_ns = Int64.min
    }

    private let script: EngineScript
    private var timers: [Timer] = []
    private var engines: [Engine]
    private var sequences = 0
    private(set) var now_ns: Int64
    var events: [EngineEvent] = []
    var allowance = HandlerAllowance()

    init(_ script: EngineScript, start_ns: Int64) {
        self.script = script
        now_ns = start_ns
        engines = script.precisions.map { Engine(precision: $0) }
    }

    var timersMade: Int { timers.count }
    var liveTimers: [Int] {
        engines.indices.map { engine in
            timers.count { $0.isLive && !$0.isInLastCall && $0.plan.engine == engine }
        }
    }

    func schedule(_ plan: TimerPlan, at deadline_ns: Int64) {
        timers.append(Timer(plan: plan))
        arm(timers.count - 1, deadline_ns)
    }

    func reschedule(_ timer: Int, at deadline_ns: Int64) -> Bool {
        guard timers[timer].isLive else { return false }
        timers[timer].unreported = 0
        if timers[timer].isRunning { timers[timer].wasMovedByHandler = true }
        arm(timer, deadline_ns)
        return true
    }

    /// A one-shot timer whose handler has begun can no longer be cancelled, unless it is armed again.
    func cancel(_ timer: Int) -> Bool {
        guard timers[timer].isLive else { return false }
        let isOver = timers[timer].isInLastCall
        timers[timer].isLive = false
        timers[timer].deadline_ns = nil
        return !isOver
    }

    private func arm(_ timer: Int, _ deadline_ns: Int64) {
        sequences += 1
        timers[timer].sequence = sequences
        timers[timer].deadline_ns = deadline_ns
        timers[timer].place_ns = max(deadline_ns, engines[timers[timer].plan.engine].looked_ns)
    }

    func advance(to instant_ns: Int64) {
        fire(upTo: instant_ns)
        now_ns = max(now_ns, instant_ns)
        if now_ns > instant_ns { fire(upTo: now_ns) }
    }

    private func fire(upTo limit_ns: Int64) {
        while let (engine, wake_ns) = nextWake(), wake_ns <= limit_ns {
            now_ns = max(now_ns, wake_ns)
            run(engine)
        }
    }

    private func nextWake() -> (engine: Int, wake_ns: Int64)? {
        var next: (engine: Int, wake_ns: Int64)?
        for timer in timers where timer.isLive && !engines[timer.plan.engine].isRunning {
            guard let wake_ns = wake_ns(of: timer) else { continue }
            let engine = timer.plan.engine
            if let found = next, (found.wake_ns, found.engine) <= (wake_ns, engine) { continue }
            next = (engine, wake_ns)
        }
        return next
    }

    private func wake_ns(of timer: Timer) -> Int64? {
        guard let deadline_ns = timer.deadline_ns, deadline_ns < .max else { return nil }
        let precision = max(timer.plan.precision ?? .coalesced, engines[timer.plan.engine].precision)
        guard precision == .coalesced else { return timer.place_ns }
        return max(
            timer.place_ns,
            deadline_ns + min(timer.plan.tolerance_ns, timer.plan.interval_ns.map { $0 / 2 } ?? .max)
        )
    }

    private func run(_ engine: Int) {
        let limit_ns = now_ns
        engines[engine].looked_ns = now_ns
        while let timer = earliest(engine, limit_ns) {
            fire(timer, engine)
            engines[engine].looked_ns = now_ns
        }
        engines[engine].looked_ns = .min
    }

    private func earliest(_ engine: Int, _ limit_ns: Int64) -> Int? {
        var next: (place_ns: Int64, sequence: Int, timer: Int)?
        for (number, timer) in timers.enumerated() where timer.isLive && timer.plan.engine == engine {
            guard let deadline_ns = timer.deadline_ns, deadline_ns < .max, timer.place_ns <= limit_ns else { continue }
            if let found = next, (found.place_ns, found.sequence) < (timer.place_ns, timer.sequence) { continue }
            next = (timer.place_ns, timer.sequence, number)
        }
        return next?.timer
    }

    private func fire(_ number: Int, _ engine: Int) {
        let deadline_ns = timers[number].deadline_ns!
        let (isCalled, missed, next_ns) = begin(number, deadline_ns)
        guard isCalled else {
            timers[number].unreported += missed + 1
            arm(number, next_ns!)
            return
        }
        let reported = timers[number].unreported + missed
        timers[number].unreported = 0
        timers[number].deadline_ns = nil
        timers[number].isRunning = true
        timers[number].wasMovedByHandler = false
        timers[number].calls += 1
        engines[engine].isRunning = true
        call(number, timers[number].calls, script, deadline_ns: deadline_ns, at_ns: now_ns, missedTicks: reported)
        engines[engine].isRunning = false
        timers[number].isRunning = false
        end(number, next_ns)
    }

    /// Returns whether the handler is called, how many ticks it is told beside its own, and the next deadline so far.
    private func begin(_ number: Int, _ deadline_ns: Int64) -> (isCalled: Bool, missed: Int, next_ns: Int64?) {
        guard let interval_ns = timers[number].plan.interval_ns else { return (true, 0, nil) }
        var grid = (missed: 0, next_ns: deadline_ns + interval_ns)
        while grid.next_ns <= now_ns { grid = (grid.missed + 1, grid.next_ns + interval_ns) }
        switch timers[number].plan.policy {
        case .delay: return (true, 0, nil)
        case .burst: return (true, 0, deadline_ns + interval_ns)
        case .skip: return (grid.missed == 0, grid.missed, grid.next_ns)
        case .merge, .mergeToGrid: return (true, grid.missed, grid.next_ns)
        }
    }

    private func end(_ number: Int, _ next_ns: Int64?) {
        guard timers[number].isLive, !timers[number].wasMovedByHandler else { return }
        guard let interval_ns = timers[number].plan.interval_ns else {
            timers[number].isLive = false
            return
        }
        var next_ns = next_ns ?? now_ns + interval_ns
        if timers[number].plan.policy == .mergeToGrid {
            // Waits for the next tick of the grid, whereas GCD's rule (`.merge`) calls at once.
            while next_ns <= now_ns {
                next_ns += interval_ns
                timers[number].unreported += 1
            }
        }
        arm(number, next_ns)
    }
}

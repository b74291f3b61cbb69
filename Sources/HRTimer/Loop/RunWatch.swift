// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

// Warnings of misuse in debug builds. See `UsageWarning`.

/// A check, a second after a loop's first timer is due, whether anybody runs that loop. While the loop does not run, the
/// check is one timer of an engine.
struct RunWatch: Sendable {
    /// The number of runs that the loop had begun before.
    let runCount: UInt64
    fileprivate let token: TimerToken
    fileprivate let engine: TimerEngine

    static let patience_ns: Int64 = 1_000_000_000

    /// The engine that makes the checks. It ends a second after the last check was made or cancelled, so that its thread does
    /// not outlive the loops; not at once, since the next timer would start it again.
    private struct Checks: Sendable {
        var engine: TimerEngine?
        var pending = 0
        /// Whether the engine has a timer that ends it if nothing is pending then.
        var isEnding = false
    }
    private static let checks = Locked(Checks())

    /// Schedules a check; nil if the process can have no more threads. `check` must call `noteMade(on:)` as its last action.
    fileprivate static func schedule(
        after_ns: Int64,
        runCount: UInt64,
        _ check: @escaping @Sendable (TimerEngine) -> Void
    ) -> RunWatch? {
        let made = checks.withLock { checks -> TimerEngine? in
            // In a forked child the parent's engine has ended.
            if checks.engine?.core.hasEnded ?? true {
                checks = Checks(
                    engine: try? TimerEngine(name: "hrtimer-watch", precision: .coalesced, time: .kernel)
                )
            }
            if checks.engine != nil { checks.pending += 1 }
            return checks.engine
        }
        guard let engine = made else { return nil }
        let token = engine.schedule(after: .nanoseconds(after_ns)) { [unowned engine] _ in check(engine) }
        return RunWatch(runCount: runCount, token: token, engine: engine)
    }

    /// Cancels the check. One that has begun already goes on.
    func cancel() {
        if engine.cancel(token) { Self.noteMade(on: engine) }
    }

    /// Notes that a check was made or cancelled.
    fileprivate static func noteMade(on engine: TimerEngine) {
        let mustEnd = checks.withLock { checks in
            guard checks.engine === engine else { return false }
            checks.pending -= 1
            if checks.pending > 0 || checks.isEnding { return false }
            checks.isEnding = true
            return true
        }
        if mustEnd {
            engine.schedule(after: .nanoseconds(patience_ns)) { [unowned engine] _ in endUnlessPending(engine) }
        }
    }

    private static func endUnlessPending(_ engine: TimerEngine) {
        let ended = checks.withLock { checks -> TimerEngine? in
            guard checks.engine === engine else { return nil }
            checks.isEnding = false
            return checks.pending == 0 ? checks.engine.take() : nil
        }
        ended?.shutdown()
    }
}

extension TimerLoop {
    /// Schedules the check after a timer was added, unless there is one. Must be called without any lock held.
    func watchForRun() {
        time.lookForMisuse {
            let isWanted = state.withLock { $0.runWatch == nil && $0.isLeftAlone }
            if isWanted { look(after_ns: untilOverdue_ns) }
        }
    }

    /// The time until the earliest timer is overdue by more than it ever is in a loop that is run; `Int64.max` for never.
    private var untilOverdue_ns: Int64 {
        let earliest_ns = state.withLock { state -> Int64 in
            var earliest_ns = Int64.max
            if !state.isEnded {
                state.core.forEachTimer { _, target in
                    if case .owner(let owner) = target { earliest_ns = min(earliest_ns, owner.shownDeadline_ns(.max)) }
                }
            }
            return earliest_ns
        }
        if earliest_ns == .max { return .max }
        return max(0, earliest_ns.subtractingSaturating(time.now_ns)).addingSaturating(RunWatch.patience_ns)
    }

    private func look(after_ns: Int64) {
        if after_ns == .max { return }
        let runCount = state.withLock { $0.runCount }
        let watch = RunWatch.schedule(after_ns: after_ns, runCount: runCount) { [weak self] engine in
            self?.lookAgain(runCount)
            RunWatch.noteMade(on: engine)
        }
        let former = state.withLock { state in
            defer { state.runWatch = watch }
            return state.runWatch
        }
        // Two threads may add the first timer at once.
        former?.cancel()
        // Nobody would cancel it if the last timer went, or the loop ended, before it was kept.
        core.endRunWatchIfEmpty()
    }

    private func lookAgain(_ runCount: UInt64) {
        if core.isInForkedChild { return }
        let isStillAlone = state.withLock { $0.isLeftAlone && $0.runCount == runCount }
        let rest_ns = untilOverdue_ns
        if isStillAlone, rest_ns <= RunWatch.patience_ns {
            let timers = liveTimers
            // The watch stays set: it shows that this loop has been reported.
            UsageWarning.report(
                UsageWarning(
                    .loopNotRun,
                    "a timer is due since a second on a loop that nobody runs, with \(counted(timers, "timer")): call run() on its thread, "
                        + "or add the timer to TimerLoop.main or to the loop of TimerLoop.thread()"
                )
            )
            return
        }
        state.withLock { $0.runWatch = nil }
        if isStillAlone, rest_ns < .max { look(after_ns: rest_ns) }
    }
}

extension LoopCore {
    /// Cancels the check if the loop has no timer left.
    func endRunWatchIfEmpty() {
        let watch = state.withLock { $0.isEnded || $0.core.count == 0 ? $0.runWatch.take() : nil }
        watch?.cancel()
    }
}

extension LoopState {
    /// Whether the loop is neither run nor hosted, and has not ended.
    fileprivate var isLeftAlone: Bool { run == nil && hostIndex == nil && !isEnded }
}

extension TimerLoop {
    /// Warns about a run that did nothing, if that is a usage error.
    func reportWhyNothingRuns(_ mode: Mode) {
        if mode == .common {
            UsageWarning.report(
                UsageWarning(
                    .ranInCommonModes,
                    "run(mode: .common) runs nothing: .common is where timers are added for all common modes; run in .default"
                )
            )
        } else if !waiter.isHosted, !core.isInForkedChild, onOwnThread({ true }) == nil {
            UsageWarning.report(
                UsageWarning(
                    .ranOnOtherThread,
                    "a loop runs on its own thread alone: here use TimerLoop.current, and for another thread's loop perform(_:)"
                )
            )
        }
    }

    /// Warns about a thread that ends, if its loop has timers and was never run.
    func reportTimersNeverRun() {
        guard UsageWarning.isLookedFor, !core.isInForkedChild else { return }
        let timers = state.withLock { $0.runCount == 0 && $0.hostIndex == nil && !$0.isEnded ? $0.core.count : 0 }
        if timers == 0 { return }
        UsageWarning.report(
            UsageWarning(
                .threadEnded,
                "a thread has ended whose loop, with \(counted(timers, "timer")), was never run: TimerLoop.current belongs to the thread it "
                    + "is asked for on, which may be one of a pool"
            )
        )
    }
}

extension LoopTimer {
    /// Warns that a timer was added to a loop without effect.
    func reportNotAdded(isValid: Bool) {
        let mistake =
            isValid
            ? UsageWarning(
                .timerInTwoLoops,
                "a timer was added to a second loop, which has no effect: make one for each loop"
            )
            : UsageWarning(
                .invalidTimerAdded,
                "an invalid timer was added to a loop, which has no effect: make a new one"
            )
        UsageWarning.report(mistake)
    }
}

extension TimerLoop {
    /// Warns that a timer was added after the loop's end. A handler that adds one while its own loop ends could not know.
    func reportTimerAfterEnd() {
        if isOnItsThread { return }
        UsageWarning.report(
            UsageWarning(
                .timerInEndedLoop,
                "a timer was added to a loop that has ended, and is invalid now: keep the LoopThread for as long as its loop is used, "
                    + "or use a LoopWorker, which keeps itself"
            )
        )
    }
}

extension LoopThread {
    /// Warns that the last reference to the thread goes while its loop has timers.
    func reportNotKept() {
        let timers = loop.liveTimers
        if timers == 0 { return }
        UsageWarning.report(
            UsageWarning(
                .threadNotKept,
                "a loop's thread ends with its last reference, and its loop has \(counted(timers, "timer")): keep the LoopThread, or let a "
                    + "LoopWorker keep itself"
            )
        )
    }
}
#endif

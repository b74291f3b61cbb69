// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
public import HRTimerCore

extension TimerLoop {
    /// Why a run ended: `CFRunLoopRunResult`.
    public enum RunResult: String, Sendable, Hashable, CaseIterable {
        /// Nothing was left that could ever happen, or there was nothing to begin with.
        ///
        /// Also where nothing could be run: on another thread than the loop's own, in `.common`, in a loop that a host runs,
        /// and in one that has ended.
        case finished
        /// `stop()` was called, or the loop has ended.
        case stopped
        /// The limit has come.
        case timedOut
        /// A source, a trigger or the main queue was handled, and the run was asked to return after one.
        case handledSource
    }

    /// Runs in the default mode until `stop()`, or until nothing is left that could ever happen: no timer, no source, no block.
    ///
    /// Returns at once if there is nothing to begin with; see `isKeptAlive`. On the main thread the main queue counts as a
    /// source of `TimerLoop.main`, whose runs therefore return by `stop()` alone. Where the main queue no longer belongs to the
    /// main thread, its blocks and the main actor's tasks wait until a run that one of them began has returned.
    ///
    /// Unlike Foundation's `run()`, this one does end with `stop()`. On another thread than the loop's own it does nothing.
    @available(
        *,
        noasync,
        message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
    )
    @discardableResult
    public func run() -> RunResult {
        run(in: .default, limit_ns: .max, returnsAfterSource: false) ?? .finished
    }

    /// Runs in the default mode until `limit`, an instant or a `Date`, or until `run()` would end.
    ///
    /// A past limit makes one pass, which fires what is due and does not wait; so does a date of NaN. `distantFuture` is no
    /// limit.
    @available(
        *,
        noasync,
        message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
    )
    @discardableResult
    public func run(until limit: some TimePoint) -> RunResult {
        run(in: .default, limit_ns: limit_ns(limit), returnsAfterSource: false) ?? .finished
    }

    /// Runs in `mode` until one source was handled, or until `limit`.
    ///
    /// Any number of timers, observers and performed blocks may be called meanwhile. A past limit makes one pass without
    /// waiting.
    ///
    /// Returns false if nothing was run: on another thread than the loop's own, in `.common`, or with neither a timer nor a
    /// source nor a block in `mode`. Returns true also if the run ended early because nothing was left, or through `stop()`.
    @available(
        *,
        noasync,
        message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
    )
    @discardableResult
    public func run(mode: Mode, before limit: some TimePoint) -> Bool {
        run(in: mode, limit_ns: limit_ns(limit), returnsAfterSource: true) != nil
    }

    /// Runs in `mode` for at most `duration`, or until `run()` would end; with `returnsAfterSource` only until one source was
    /// handled: `CFRunLoopRunInMode`.
    ///
    /// Zero, less and NaN make one pass.
    @available(
        *,
        noasync,
        message: "TimerLoop.main runs by itself under an async main, and any other loop in TimerLoop.thread()"
    )
    @discardableResult
    public func run(mode: Mode = .default, for duration: some TimeSpan, returnsAfterSource: Bool = false) -> RunResult {
        let limit_ns = time.now_ns.addingSaturating(duration.nanosecondsOrZero)
        return run(in: mode, limit_ns: limit_ns, returnsAfterSource: returnsAfterSource) ?? .finished
    }

    private func limit_ns(_ limit: some TimePoint) -> Int64 {
        limit.instant(on: time)?.nanoseconds ?? .min
    }

    private func run(in mode: Mode, limit_ns: Int64, returnsAfterSource: Bool) -> RunResult? {
        let result = runInMode(mode, limit_ns: limit_ns, returnsAfterSource: returnsAfterSource)
        if result == nil, UsageWarning.isLookedFor { reportWhyNothingRuns(mode) }
        return result
    }

    /// Ends the innermost run, after its current pass if there is one: the due timers, ready sources and blocks of that pass
    /// still come, and it does not sleep first.
    ///
    /// Has no effect if no run goes on. Any thread.
    public func stop() {
        core.update { state in
            guard !state.isEnded, state.run != nil else { return false }
            state.stopRun()
            return state.mustWakeNow()
        }
    }

    /// Makes the loop pass once more through all that it has to do, at once if it sleeps.
    ///
    /// Several wakes before that pass count as one. Any thread; also from a signal handler.
    public func wakeUp() {
        if core.isInForkedChild { return }
        waiter.wake()
    }
}

// One run.
extension TimerLoop {
    /// Runs the loop in `mode`. Returns nil if there was nothing to run, or if it cannot be run here.
    func runInMode(
        _ mode: Mode,
        limit_ns: Int64,
        returnsAfterSource: Bool,
        isOnMainQueue: Bool = false
    ) -> RunResult? {
        if mode == .common || waiter.isHosted && limit_ns > .min { return nil }
        return time.enter("a run of a loop") { runHere(mode, limit_ns, returnsAfterSource, isOnMainQueue) }
    }

    private func runHere(
        _ mode: Mode,
        _ limit_ns: Int64,
        _ returnsAfterSource: Bool,
        _ isOnMainQueue: Bool
    ) -> RunResult? {
        onOwnThread {
            guard begin(mode, canServeMainQueue: !isOnMainQueue && opensMainQueue()) else { return nil }
            defer { state.withLock { $0.endRun(time.now_ns) } }
            waiter.enter()
            tell(.entry)
            defer { tell(.exit) }
            return makePasses(limit_ns: limit_ns, returnsAfterSource: returnsAfterSource)
        } ?? nil
    }

    private func begin(_ mode: Mode, canServeMainQueue: Bool) -> Bool {
        state.withLock { state in
            if state.isEnded { return false }
            guard let index = state.modes.known(mode) ?? (state.isKeptAlive ? state.modes.index(of: mode) : nil) else {
                return false
            }
            let servesMainQueue = canServeMainQueue && state.modes.isCommon(index)
            var run = LoopState.Run(mode: mode, index: index, servesMainQueue: servesMainQueue)
            guard run.servesMainQueue || state.hasWork(in: run.index) else { return false }
            // A handler may begin this run before the core has noted that its thread is awake.
            state.core.stayAwake()
            if state.runLog != nil { run.begin_ns = time.now_ns }
            state.push(run)
            state.serveGroups()
            state.runCount += 1
            return true
        }
    }
}
#endif

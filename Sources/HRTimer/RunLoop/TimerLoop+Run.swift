#if os(Linux)
import CHRTimer
public import HRTimerCore

extension TimerLoop {
    /// Why a run ended: `CFRunLoopRunResult`.
    public enum RunResult: String, Sendable, Hashable, CaseIterable {
        /// Nothing was left that could ever happen, or there was nothing to begin with; also where nothing could be run: on
        /// another thread than the loop's own, in `.common`, in a loop that a host runs, in one that has ended.
        case finished
        /// `stop()` was called, or the loop has ended.
        case stopped
        /// The limit has come.
        case timedOut
        /// A source, a trigger or the main queue was handled, and the run was to return after one.
        case handledSource
    }

    /// Runs in the default mode until `stop()`, or until nothing is left that could ever happen: no timer, no source, no
    /// block. At once, then, if there is nothing to begin with; see `isKeptAlive`. On the main thread the main queue counts as
    /// a source of `TimerLoop.main`, which so returns by `stop()` alone; where the main queue is not that thread's any more,
    /// its blocks and the main actor's tasks wait until a run that one of them began has returned.
    ///
    /// Unlike Foundation's, this one does end with `stop()`. On another thread than the loop's own it does nothing.
    @available(*, noasync)
    @discardableResult
    public func run() -> RunResult {
        run(in: .default, limit_ns: .max, returnsAfterSource: false) ?? .finished
    }

    /// Runs in the default mode until `limit`, an instant or a `Date`; ends earlier as `run()` does. A past limit makes one
    /// pass, which fires what is due, and does not wait; so does a date of NaN. `distantFuture` is no limit.
    @available(*, noasync)
    @discardableResult
    public func run(until limit: some TimePoint) -> RunResult {
        run(in: .default, limit_ns: limit_ns(limit), returnsAfterSource: false) ?? .finished
    }

    /// Runs in the default mode for so long at most; ends earlier as `run()` does. Zero and less, and NaN, make one pass.
    @available(*, noasync)
    @discardableResult
    public func run(for duration: some TimeSpan) -> RunResult {
        run(mode: .default, for: duration)
    }

    /// Runs in `mode` until one source was handled, or until `limit`. Timers, observers and performed blocks may come any
    /// number of times meanwhile. A past limit makes one pass without waiting.
    ///
    /// False if nothing was run: on another thread than the loop's own, in `.common`, or with neither a timer nor a source
    /// nor a block in `mode`. True also if it ended early because nothing was left, or through `stop()`.
    @available(*, noasync)
    @discardableResult
    public func run(mode: Mode, before limit: some TimePoint) -> Bool {
        run(in: mode, limit_ns: limit_ns(limit), returnsAfterSource: true) != nil
    }

    /// Runs in `mode` for so long at most, and if `returnsAfterSource` until one source was handled: `CFRunLoopRunInMode`.
    @available(*, noasync)
    @discardableResult
    public func run(mode: Mode, for duration: some TimeSpan, returnsAfterSource: Bool = false) -> RunResult {
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

    /// Ends the innermost run that is going on, after the pass that may be going on: its due timers, ready sources and blocks
    /// still come, and it does not sleep first. Lost if there is none. Any thread.
    public func stop() {
        let mustWake = state.withLock { state in
            guard !state.isEnded, !state.runs.isEmpty else { return false }
            state.runs[state.runs.count - 1].isStopped = true
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

    /// Makes the loop pass once more through all that it has to do, at once if it sleeps. Wakes that come before it did
    /// count as one. Any thread; also from a signal handler.
    public func wakeUp() {
        if core.isInForkedChild { return }
        waiter.wake()
    }

    /// Calls `block` once, in the loop's next pass in one of `modes`, after blocks that came before it; such of a lower
    /// `order` come first. A pass calls blocks when it begins and when its timers and descriptors were called: what a handler of
    /// a timer or a descriptor adds comes in the same pass, what a block adds comes later. Wakes the loop, unlike Foundation's.
    /// Never called if the loop does not run again; dropped at once without modes, or if the loop has ended. Any thread.
    ///
    /// One of an actor, as `{ @MainActor in … }`, is called on that: in the pass itself where the loop's thread is the actor's,
    /// as in `main` for the main actor; elsewhere by a task.
    public func perform(
        inModes modes: some Sequence<Mode> = [.default],
        order: Int = 0,
        _ block: @escaping @isolated(any) @Sendable () -> Void
    ) {
        perform(inModes: modes, order: order, request: nil, onItsActor(block))
    }

    func perform(
        inModes modes: some Sequence<Mode>,
        order: Int,
        request: PendingPerforms.Request?,
        _ block: @escaping @Sendable () -> Void
    ) {
        let mustWake = state.withLock { state in
            if state.isEnded { return false }
            let set = state.modes.set(of: modes)
            if set == ModeTable.nowhere { return false }
            state.performs.add(block, modes: set, order: order, request: request)
            core.post(.blocks)
            return state.serves(set) && state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

    /// The mode of the innermost run, nil if the loop does not run. Any thread.
    public var currentMode: Mode? { state.withLock { $0.runs.last?.mode } }

    /// Whether the loop sleeps, waiting for something to do. Any thread.
    public var isWaiting: Bool { state.withLock { $0.core.isParked } }

    /// Whether the loop goes on running while it has nothing to do: then only `stop()` or a limit ends a run. Any thread.
    public var isKeptAlive: Bool {
        get { state.withLock { $0.isKeptAlive } }
        set {
            let mustWake = state.withLock { state in
                state.isKeptAlive = newValue
                return state.mustWakeNow()
            }
            if mustWake { waiter.wake() }
        }
    }
}

// One run.
extension TimerLoop {
    /// Nil if there was nothing to run.
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
            var first = Fire()
            var second = Fire()
            while true {
                let outcome = pass(limit_ns: limit_ns, returnsAfterSource: returnsAfterSource, &first, &second)
                if let outcome { return outcome }
            }
        } ?? nil
    }

    private func begin(_ mode: Mode, canServeMainQueue: Bool) -> Bool {
        state.withLock { state in
            if state.isEnded { return false }
            guard let index = state.modes.known(mode) ?? (state.isKeptAlive ? state.modes.index(of: mode) : nil) else {
                return false
            }
            let servesMainQueue = canServeMainQueue && state.modes.isCommon(index)
            let run = LoopState.Run(mode: mode, index: index, servesMainQueue: servesMainQueue)
            guard run.servesMainQueue || state.hasWork(in: run.index) else { return false }
            // A nested run in a handler.
            state.core.stayAwake()
            state.runs.append(run)
            state.serveGroups()
            state.runCount += 1
            if state.runLog != nil { state.runs[state.runs.count - 1].begin_ns = time.now_ns }
            return true
        }
    }
}
#endif

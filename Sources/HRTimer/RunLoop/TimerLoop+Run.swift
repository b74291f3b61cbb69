import CHRTimer
public import HRTimerCore

extension TimerLoop {
    /// Runs in the default mode until `stop()`, or until nothing is left that could ever happen: no timer, no source, no
    /// block. At once, then, if there is nothing to begin with; see `isKeptAlive`.
    ///
    /// Unlike Foundation's, this one does end with `stop()`. On another thread than the loop's own it does nothing.
    @available(*, noasync)
    public func run() {
        _ = runInMode(.default, limit_ns: .max, returnsAfterSource: false)
    }

    /// Runs in the default mode until `limit`; ends earlier as `run()` does. A past limit makes one pass, which fires what
    /// is due, and does not wait.
    @available(*, noasync)
    public func run(until limit: MonotonicInstant) {
        _ = runInMode(.default, limit_ns: limit.nanoseconds, returnsAfterSource: false)
    }

    /// Runs in `mode` until one source was handled, or until `limit`. Timers, observers and performed blocks may come any
    /// number of times meanwhile. A past limit makes one pass without waiting.
    ///
    /// False if nothing was run: on another thread than the loop's own, in `.common`, or with neither a timer nor a source
    /// nor a block in `mode`. True also if it ended early because nothing was left, or through `stop()`.
    @available(*, noasync)
    @discardableResult
    public func run(mode: Mode, before limit: MonotonicInstant) -> Bool {
        runInMode(mode, limit_ns: limit.nanoseconds, returnsAfterSource: true) != nil
    }

    /// Ends the innermost run that is going on, after the pass that may be going on: its due timers, ready sources and blocks
    /// still come, and it does not sleep first. Lost if there is none. Any thread.
    public func stop() {
        let mustWake = state.withLock { state in
            guard !state.runs.isEmpty else { return false }
            state.runs[state.runs.count - 1].isStopped = true
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

    /// Makes the loop pass once more through all that it has to do, at once if it sleeps. Wakes that come before it did
    /// count as one. Any thread; also from a signal handler.
    public func wakeUp() {
        waiter.wake()
    }

    /// Calls `block` once, in the loop's next pass in one of `modes`, after blocks that came before it; such of a lower
    /// `order` come first. Wakes the loop, unlike Foundation's. Never called if the loop does not run again; dropped
    /// at once without modes, or if the loop has ended. Any thread.
    public func perform(
        inModes modes: some Sequence<Mode> = [.default],
        order: Int = 0,
        _ block: @escaping @Sendable () -> Void
    ) {
        perform(inModes: modes, order: order, request: nil, block)
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
            if set.isEmpty { return false }
            state.performs.add(block, modes: set, order: order, request: request)
            return set.intersects(state.served) && state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

    /// The mode of the innermost run, nil if the loop does not run. Any thread.
    public var currentMode: Mode? { state.withLock { $0.runs.last?.mode } }

    /// Whether the loop sleeps, waiting for something to do. Any thread.
    public var isWaiting: Bool { state.withLock { $0.sleepsUntil_ns != .min } }

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
    enum Outcome { case handledSource, timedOut, stopped, finished }

    /// Nil if there was nothing to run.
    func runInMode(_ mode: Mode, limit_ns: Int64, returnsAfterSource: Bool) -> Outcome? {
        if mode == .common || waiter.isHosted && limit_ns > .min { return nil }
        return onOwnThread {
            guard begin(mode) else { return nil }
            defer { state.withLock { _ = $0.runs.popLast() } }
            tell(.entry)
            defer { tell(.exit) }
            while true {
                let outcome = pass(limit_ns: limit_ns, returnsAfterSource: returnsAfterSource)
                if let outcome { return outcome }
            }
        } ?? nil
    }

    private func begin(_ mode: Mode) -> Bool {
        state.withLock { state in
            guard let index = state.modes.known(mode) ?? (state.isKeptAlive ? state.modes.index(of: mode) : nil) else {
                return false
            }
            let served = state.modes.served(in: index)
            guard state.hasWork(in: served), !state.isEnded else { return false }
            state.runs.append(LoopState.Run(mode: mode, index: index, served: served))
            return true
        }
    }

    /// Blocks and triggers, then a wait, then timers and descriptors, then blocks again. Nil if the run goes on.
    private func pass(limit_ns: Int64, returnsAfterSource: Bool) -> Outcome? {
        tell(.beforeTimers)
        tell(.beforeSources)
        performBlocks()
        var hasServed = callTriggers(onlyFirst: returnsAfterSource)
        if hasServed { performBlocks() }
        let ready: [hrt_ready]
        if hasServed || limit_ns < .max && limit_ns <= time.now_ns {
            updateWatches()
            _ = waiter.poll()
            ready = takeReady()
        } else {
            tell(.beforeWaiting)
            sleep(limit_ns: limit_ns)
            // Before a handler can run the loop, which looks anew.
            ready = takeReady()
            tell(.afterWaiting)
        }
        fireDueTimers()
        if serveDescriptors(ready, onlyFirst: returnsAfterSource) { hasServed = true }
        performBlocks()
        if hasServed && returnsAfterSource { return .handledSource }
        let isPastLimit = limit_ns < .max && time.now_ns >= limit_ns
        return state.withLock { state in
            if isPastLimit { return .timedOut }
            guard let run = state.runs.last, !run.isStopped, !state.isEnded else { return .stopped }
            return state.hasWork(in: run.served) ? nil : .finished
        }
    }

    private func performBlocks() {
        for block in state.withLock({ $0.performs.take(servedBy: $0.served) }) { block() }
    }

    private func fireDueTimers() {
        let now_ns = time.now_ns
        var timer = state.withLock { state -> LoopTimer? in
            state.collectDue(now_ns: now_ns)
            return state.popDue()
        }
        while let due = timer {
            due.fireDue(now_ns, on: self)
            timer = state.withLock { $0.popDue() }
        }
    }

    private func sleep(limit_ns: Int64) {
        updateWatches()
        while true {
            let wake = state.withLock { prepareToSleep(limit_ns, &$0) }
            let found = sleep(until: wake)
            let now_ns = time.now_ns
            if !found.isEmpty || wake.at_ns == .min || now_ns >= limit_ns { break }
            // Nothing due, then the queue asked for a look that was early, or the timer is of a mode that does not run: no
            // reason for a pass.
            let isDue = state.withLock { state in
                state.sleepsUntil_ns = .min
                state.collectDue(now_ns: now_ns)
                return !state.due.isEmpty
            }
            if isDue { break }
        }
        // Before the observers of `afterWaiting`: what they add needs no wake.
        state.withLock { $0.sleepsUntil_ns = .min }
    }

    /// What to sleep until; `.min` to look for descriptors and wakes without waiting.
    private func prepareToSleep(_ limit_ns: Int64, _ state: inout LoopState) -> LoopState.Wake {
        // A block or a trigger may have been the last thing there was.
        let isOver = state.runs.last?.isStopped ?? true || state.isEnded || !state.hasWork(in: state.served)
        if isOver || state.hasWorkNow { return LoopState.Wake(at_ns: .min) }
        state.readmit()
        var wake = state.nextWake
        if limit_ns < wake.at_ns { wake = LoopState.Wake(at_ns: limit_ns) }
        state.sleepsUntil_ns = wake.at_ns
        return wake
    }

    private func sleep(until wake: LoopState.Wake) -> LoopWaiter.Found {
        let until_ns = wake.at_ns
        if until_ns == .min { return waiter.poll() }
        guard let virtual = time.virtual else {
            guard let spinBudget = wake.spinBudget else { return waiter.wait(until: until_ns) }
            return waiter.wait(until: until_ns, spinBudget: spinBudget) {
                state.withLock { $0.prepareDue(at: until_ns) }
            }
        }
        // Descriptors and wakes come from the real world: the virtual clock moves only if there are none now.
        let found = waiter.poll()
        guard found.isEmpty, virtual.now_ns < until_ns else { return found }
        let hasMoved = virtual.wait(until: until_ns) { [waiter] in waiter.isWoken }
        return hasMoved ? waiter.poll() : waiter.wait(until: .max)
    }
}

#if os(Linux)
import HRTimerCore

/// What a `Debouncer` and a `Throttle` have in common: a gate, and a source that calls where the handler belongs.
///
/// The source's handler holds this object and not the other way round: the source goes with the object that users own.
final class PacedCalls<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var gate: BurstGate<Element>
        /// What has passed and was not handed to the handler yet.
        var passed: [Element] = []
        /// When the source is to call; `Int64.max` for never.
        var armed_ns = Int64.max
        /// It ended, and nothing is called any more.
        var hasEnded = false
        /// The source's handler calls the user's with elements that have passed.
        var isDelivering = false
        /// The source, from the release of the last reference until all that had passed before is delivered.
        var lastSource: TimerSource?
    }

    /// In a struct: by itself each copy of the function would be wrapped anew.
    private struct Handler: Sendable {
        let call: @Sendable (Element) -> Void
    }

    private let state: Locked<State>
    private let handler: Locked<Handler?>

    init(
        _ rule: BurstGate<Element>.Rule,
        _ edges: BurstEdges,
        _ period: some TimeSpan,
        _ handler: @escaping @Sendable (Element) -> Void
    ) {
        state = Locked(State(gate: BurstGate(rule, edges, period_ns: period.nanosecondsOrZero)))
        self.handler = Locked(Handler(call: handler))
    }

    /// Called once, before all others.
    func start(_ source: TimerSource) {
        source.setEventHandler { [weak source] in
            if let source { self.deliver(source) }
        }
        source.activate()
    }

    private func now_ns(_ source: TimerSource) -> Int64 { source.core.core.time.now_ns }

    /// With the lock held, so that of two threads the later one's deadline stays. The source calls nobody within it.
    private func arm(_ source: TimerSource, _ state: inout State, _ now_ns: Int64) {
        let next_ns = state.passed.isEmpty ? state.gate.wake_ns : now_ns
        if next_ns == state.armed_ns { return }
        state.armed_ns = next_ns
        source.schedule(deadline: MonotonicInstant(nanoseconds: next_ns))
    }

    /// Does not call the handler: that is called where it belongs. False after the end.
    func send(_ element: Element, _ source: TimerSource) -> Bool {
        var dropped: Element?
        return state.withLock { state in
            if state.hasEnded {
                dropped = element
                return false
            }
            let now_ns = now_ns(source)
            state.gate.receive(element, at: now_ns, &state.passed, dropped: &dropped)
            arm(source, &state, now_ns)
            return true
        }
    }

    func flush(_ source: TimerSource) {
        state.withLock { state in
            if state.hasEnded { return }
            let now_ns = now_ns(source)
            guard let element = state.gate.flush(at: now_ns) else { return }
            state.passed.append(element)
            arm(source, &state, now_ns)
        }
    }

    /// What waits is dropped, and the period has ended.
    func discard(_ source: TimerSource) {
        var dropped: [Element] = []
        state.withLock { state in
            swap(&dropped, &state.passed)
            if let element = state.gate.reset() { dropped.append(element) }
            if !state.hasEnded { arm(source, &state, now_ns(source)) }
        }
        withExtendedLifetime(dropped) {}
    }

    func end(_ source: TimerSource) {
        source.cancel()
        state.withLock { $0.hasEnded = true }
        discard(source)
        let left = handler.withLock { $0.take() }
        withExtendedLifetime(left) {}
    }

    /// The last reference is gone: drops what waits. What has passed is due already, and the handler is still called with it.
    func release(_ source: TimerSource) {
        var dropped: Element?
        let isOver = state.withLock { state in
            if state.hasEnded || state.passed.isEmpty && !state.isDelivering { return true }
            dropped = state.gate.reset()
            state.lastSource = source
            return false
        }
        if isOver { end(source) }
        withExtendedLifetime(dropped) {}
    }

    var isWaiting: Bool { state.withLock { !$0.passed.isEmpty || $0.gate.wake_ns < .max } }

    /// Where the handler belongs.
    private func deliver(_ source: TimerSource) {
        var passed: [Element] = []
        state.withLock { state in
            state.armed_ns = .max
            state.isDelivering = true
            swap(&passed, &state.passed)
            if let element = state.gate.expire(at: now_ns(source)) { passed.append(element) }
            arm(source, &state, now_ns(source))
        }
        for element in passed { handler.withLock({ $0 })?.call(element) }
        let last = state.withLock { state in
            state.isDelivering = false
            return state.passed.isEmpty ? state.lastSource.take() : nil
        }
        if let last { end(last) }
    }
}
#endif

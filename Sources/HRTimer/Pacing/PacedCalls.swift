#if os(Linux)
import HRTimerCore

/// The common part of a `Debouncer` and a `Throttle`: a gate, and a source that calls the handler where it belongs.
///
/// The source's handler holds this object and not the other way round: the source is freed with the object that users own.
final class PacedCalls<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var gate: BurstGate<Element>
        /// The elements that have passed and that the handler was not called for yet.
        var passed: [Element] = []
        /// When the source must call; `Int64.max` for never.
        var armed_ns = Int64.max
        /// Whether it has ended; then it takes no more elements.
        var hasEnded = false
        /// Whether the user's handler is being called with elements that have passed.
        var isDelivering = false
    }

    /// In a struct: by itself the function would be wrapped anew in each copy.
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

    /// Starts the source. Must be called once, before all other functions.
    func start(_ source: TimerSource) {
        source.setEventHandler { [weak source] in
            if let source { self.deliver(source) }
        }
        source.activate()
    }

    private func now_ns(_ source: TimerSource) -> Int64 { source.core.core.time.now_ns }

    /// Arms the source for the next call. Must be called with the lock held, so that of two threads the later one's deadline
    /// stays. The source calls no handler within `schedule`.
    private func arm(_ source: TimerSource, _ state: inout State, _ now_ns: Int64) {
        // A call that is due is not put off by more elements for it.
        if !state.passed.isEmpty, state.armed_ns <= now_ns { return }
        let next_ns = state.passed.isEmpty ? state.gate.wake_ns : now_ns
        if next_ns == state.armed_ns { return }
        state.armed_ns = next_ns
        source.schedule(deadline: MonotonicInstant(nanoseconds: next_ns))
    }

    /// Takes an element. Does not call the handler: that is called where it belongs. Returns false after the end.
    func send(_ element: Element, _ source: TimerSource) -> Bool {
        var dropped: Element?
        return state.withLock { state in
            if state.hasEnded || source.core.core.hasEnded {
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

    /// Drops the elements that wait, and ends the period.
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
        freeHandler()
    }

    /// The last reference is gone: drops what waits. What has passed is due already, and the handler is still called with it,
    /// unless its engine or loop has ended.
    func release(_ source: TimerSource) {
        var dropped: Element?
        let (mustCall, isDelivering) = state.withLock { state in
            dropped = state.gate.reset()
            if state.hasEnded { return (false, true) }
            state.hasEnded = true
            return (!state.passed.isEmpty && !state.isDelivering, state.isDelivering)
        }
        if dropped != nil, !source.core.core.hasEnded { reportElementDropped() }
        withExtendedLifetime(dropped) {}
        let runOnTarget = source.core.blockRunner()
        source.cancel()
        if mustCall, !source.core.core.hasEnded {
            runOnTarget { [self] in call([]) }
        } else if !isDelivering {
            freeHandler()
        }
    }

    private func reportElementDropped() {
        UsageWarning.report(
            UsageWarning(
                .waitingElementDropped,
                "the last reference to a Debouncer or a Throttle is gone, and the element that waited in it is dropped: keep it as long "
                    + "as it is used, and call flush() before it goes, or discard() if the element is not wanted"
            )
        )
    }

    var isWaiting: Bool { state.withLock { !$0.passed.isEmpty || $0.gate.wake_ns < .max } }

    /// Calls the handler for the elements that have passed. Runs where the handler belongs.
    private func deliver(_ source: TimerSource) {
        var passed: [Element] = []
        state.withLock { state in
            state.armed_ns = .max
            state.isDelivering = true
            swap(&passed, &state.passed)
            if let element = state.gate.expire(at: now_ns(source)) { passed.append(element) }
            if !state.hasEnded { arm(source, &state, now_ns(source)) }
        }
        call(passed)
    }

    /// Calls the handler for these elements; after the release of the last reference also for all others that have passed.
    private func call(_ elements: [Element]) {
        var elements = elements
        while true {
            for element in elements { handler.withLock({ $0 })?.call(element) }
            elements = []
            let hasEnded = state.withLock { state in
                if state.hasEnded { swap(&elements, &state.passed) }
                state.isDelivering = !elements.isEmpty
                return state.hasEnded
            }
            if elements.isEmpty { return hasEnded ? freeHandler() : () }
        }
    }

    private func freeHandler() {
        let left = handler.withLock { $0.take() }
        withExtendedLifetime(left) {}
    }
}
#endif

// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Dispatch
import HRTimerCore

/// Calls a handler with what a pacer has passed, where the handler belongs and one call at a time: what `Debouncer` and `Throttle`
/// have in common.
///
/// While it waits for an element, it and the pacer hold each other; `release` or `cancel` ends that.
final class PacedCalls<Element: Sendable>: Sendable {
    /// Where the handler is called.
    enum Place: Sendable {
        case engine
        case queue(DispatchQueue)
        case loop(TimerLoop)
    }

    /// In a struct: by itself the function would be wrapped anew in each copy.
    private struct Handler: Sendable {
        let call: @Sendable (Element) -> Void
    }

    let pacer: Pacer<Element>
    /// Runs as long as there are calls to make.
    private let engine: TimerEngine
    private let place: Place
    /// Nil once it was cancelled.
    private let handler: Locked<Handler?>

    init(
        _ rule: BurstGate<Element>.Rule,
        _ edges: BurstEdges,
        _ period: some TimeSpan,
        _ engine: TimerEngine,
        _ place: Place,
        _ handler: @escaping @Sendable (Element) -> Void
    ) {
        let gate = BurstGate<Element>(rule, edges, period_ns: period.nanosecondsOrZero)
        pacer = Pacer(gate, on: engine.core)
        self.engine = engine
        self.place = place
        self.handler = Locked(Handler(call: handler))
        waitForElement()
    }

    private func waitForElement() {
        _ = pacer.wait { [self] in submit() }
    }

    private func submit() {
        let calls: @Sendable () -> Void = { [self] in callHandler() }
        switch place {
        case .engine: _ = engine.core.runSoon(calls)
        case .loop(let loop): loop.perform(inModes: [.common], calls)
        case .queue(let queue):
            let name = "the calls of a debouncer or a throttle on the queue \(queue.label)"
            queue.async(execute: engine.core.time.elsewhere(name, calls))
        }
    }

    /// Runs where the handler belongs.
    private func callHandler() {
        // What passes meanwhile is submitted anew: others get their turn.
        for _ in 0..<pacer.passedCount {
            guard let element = pacer.take() else { break }
            // Read each time: after `cancel()` no call begins.
            handler.withLock { $0 }?.call(element)
        }
        waitForElement()
    }

    /// Ends the calls and frees the handler.
    func cancel() {
        pacer.close()
        pacer.end()
        let left = handler.withLock { $0.take() }
        withExtendedLifetime(left) {}
    }

    /// The last reference is gone: drops the element that waits. The handler is still called with those that have passed.
    func release() {
        guard pacer.close(), !engine.core.hasEnded else { return }
        UsageWarning.report(
            UsageWarning(
                .waitingElementDropped,
                "the last reference to a Debouncer or a Throttle is gone, and the element that waited in it is dropped: keep it as long "
                    + "as it is used, and call flush() before it goes, or discard() if the element is not wanted"
            )
        )
    }
}
#endif

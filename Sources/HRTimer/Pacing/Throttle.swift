// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import Dispatch
public import HRTimerCore

/// An object that calls a handler at most once a period, with the latest element: for a progress bar, a log, a position.
///
///     let progress = Throttle<Double>(for: .milliseconds(100), loop: .main) { fraction in bar.draw(fraction) }
///     progress.send(0.5)                          // as often as one likes
///
/// The first element passes at once. Of those that come within the period after it, the latest one passes at the end of the
/// period, even if nothing comes any more: the handler always learns the last element. `BurstEdges` has other choices.
///
/// In all else it is a `Debouncer`: never early, never called on the thread that sends nor while it is still running, and any
/// thread may call its members. Releasing the last reference drops the elements that wait: call `flush()` before.
public final class Throttle<Element: Sendable>: Sendable {
    private let calls: PacedCalls<Element>

    /// Calls the handler on the queue, one call at a time even on a concurrent queue; without a queue, on the engine's thread.
    ///
    /// With a period of zero or less, or NaN, everything passes.
    public convenience init(
        for period: some TimeSpan,
        edges: BurstEdges = .both,
        engine: TimerEngine = .shared,
        queue: DispatchQueue? = nil,
        handler: @escaping @Sendable (Element) -> Void
    ) {
        let place = queue.map { PacedCalls<Element>.Place.queue($0) } ?? .engine
        self.init(PacedCalls(.throttle, edges, period, engine, place, handler))
    }

    /// Calls the handler on the loop's thread, in a pass in one of the common modes.
    public convenience init(
        for period: some TimeSpan,
        edges: BurstEdges = .both,
        engine: TimerEngine = .shared,
        loop: TimerLoop,
        handler: @escaping @Sendable (Element) -> Void
    ) {
        self.init(PacedCalls(.throttle, edges, period, engine, .loop(loop), handler))
    }

    private init(_ calls: PacedCalls<Element>) { self.calls = calls }

    deinit { calls.release() }

    /// Takes an element, as `Debouncer.send(_:)` does.
    @discardableResult
    public func send(_ element: Element) -> Bool { calls.pacer.send(element) }

    /// Has the handler called now with the element that waits, as `Debouncer.flush()` does.
    public func flush() { calls.pacer.flush() }

    /// Drops the elements that wait, and ends the period: the next element is the first one again.
    package func discard() { calls.pacer.discard() }

    /// Ends the throttle for good, drops the elements that wait, and frees the handler, as `Debouncer.cancel()` does.
    public func cancel() { calls.cancel() }

    /// Whether an element waits for its call.
    public var isWaiting: Bool { calls.pacer.isWaiting }
}

extension Throttle<Void> {
    /// Sends an element without a value; see `send(_:)`.
    @discardableResult
    public func send() -> Bool { send(()) }
}
#endif

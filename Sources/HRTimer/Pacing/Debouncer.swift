// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import Dispatch
public import HRTimerCore

/// An object that calls a handler when nothing has been sent for a while, with the last element: one write for many changes.
///
///     let writes = Debouncer<Document>(for: .milliseconds(300), queue: disk) { document in save(document) }
///     writes.send(document)                       // at each change; saved once it has been quiet for 300 ms
///     writes.flush()                              // the window is closed: saved now
///
/// The handler is never called early, on `CLOCK_MONOTONIC`. It is called on the engine's thread, on a queue or in a loop,
/// never on the thread that sends, and never while it is still running; elements that pass meanwhile come after it, in
/// order. `BurstEdges` says which element of a burst passes: by default the last one.
///
/// All members may be called from any thread, and from the handler. `send(_:)` takes a lock for a moment and reads the
/// clock; the engine is woken once a period at most. Releasing the last reference drops the elements that wait: call
/// `flush()` before. After the engine or the loop has ended nothing is called any more.
public final class Debouncer<Element: Sendable>: Sendable {
    private let calls: PacedCalls<Element>

    /// Calls the handler on the queue, one call at a time even on a concurrent queue; without a queue, on the engine's thread.
    ///
    /// With a period of zero or less, or NaN, everything passes.
    public convenience init(
        for period: some TimeSpan,
        edges: BurstEdges = .trailing,
        engine: TimerEngine = .shared,
        queue: DispatchQueue? = nil,
        handler: @escaping @Sendable (Element) -> Void
    ) {
        let place = queue.map { PacedCalls<Element>.Place.queue($0) } ?? .engine
        self.init(PacedCalls(.debounce, edges, period, engine, place, handler))
    }

    /// Calls the handler on the loop's thread, in a pass in one of the common modes.
    public convenience init(
        for period: some TimeSpan,
        edges: BurstEdges = .trailing,
        engine: TimerEngine = .shared,
        loop: TimerLoop,
        handler: @escaping @Sendable (Element) -> Void
    ) {
        self.init(PacedCalls(.debounce, edges, period, engine, .loop(loop), handler))
    }

    private init(_ calls: PacedCalls<Element>) { self.calls = calls }

    deinit { calls.release() }

    /// Takes an element.
    ///
    /// Does not call the handler itself, and returns at once. Returns false after `cancel()`, and once the engine has ended.
    @discardableResult
    public func send(_ element: Element) -> Bool { calls.pacer.send(element) }

    /// Has the handler called now with the element that waits, if one does, as at the end of its period.
    ///
    /// Does not wait for the call. Release the debouncer after this to end it with that call; `cancel()` may come before the
    /// call, and prevents it.
    public func flush() { calls.pacer.flush() }

    /// Drops the elements that wait, and ends the period: the next element is the first one again.
    package func discard() { calls.pacer.discard() }

    /// Ends the debouncer for good, drops the elements that wait, and frees the handler.
    ///
    /// A call that has begun goes on. If the handler itself calls this, no call follows after this returned. Idempotent.
    ///
    /// A flushed element is dropped too if its call has not begun: after `cancel()` no call begins.
    /// Releasing the last reference instead drops only what was not flushed.
    public func cancel() { calls.cancel() }

    /// Whether an element waits for its call.
    public var isWaiting: Bool { calls.pacer.isWaiting }
}

extension Debouncer<Void> {
    /// Sends an element without a value; see `send(_:)`.
    @discardableResult
    public func send() -> Bool { send(()) }
}
#endif

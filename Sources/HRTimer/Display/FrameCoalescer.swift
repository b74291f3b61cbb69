// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// A filter that delivers only the latest of any number of updates, at most once a frame, for example a download's progress to
/// a progress bar.
///
///     let bar = FrameCoalescer<Double>(loop: .main) { progress in draw(progress) }
///     // on any thread, a million times a second
///     bar.update(done / total)
///
/// The loop's thread calls the handler, at a refresh. Without a new update there are no calls and no wake-ups. The loop holds
/// the coalescer until `finish()` or `invalidate()`, or until the loop ends. Any thread may use it.
public final class FrameCoalescer<Value: Sendable>: Sendable {
    private struct State: Sendable {
        var latest: Value?
        var isRunning = false
        var isFinishing = false
    }

    private let state = Locked(State())
    private let link: DisplayLink

    /// Creates a coalescer that calls `handler` on `loop` when that runs in `mode`, at refreshes of `source`, or of
    /// `VsyncSource.shared` if `source` is nil.
    ///
    /// A handler that belongs to an actor is called on that actor; every closure in code of a global actor does. If the loop's
    /// thread is the actor's, it is called at once, otherwise by a task, which delivers the latest update by then.
    public init(
        source: VsyncSource? = nil,
        loop: TimerLoop,
        mode: TimerLoop.Mode = .common,
        @_inheritActorContext handler: @escaping @isolated(any) @Sendable (Value) -> Void
    ) {
        let known = Locked(Known())
        let plain = withoutActor(handler)
        let tell: DisplayLink.Handler = { _ in known.withLock { $0.coalescer }?.tick(plain) }
        link = DisplayLink(source: source, handler: tell, on: handler.isolation)
        link.isPaused = true
        known.withLock { $0.coalescer = self }
        link.add(to: loop, forMode: mode, holder: self)
    }

    private struct Known: Sendable {
        weak var coalescer: FrameCoalescer?
    }

    /// Sets the update to deliver, in place of a former one that was not delivered yet.
    ///
    /// Does nothing after `finish()` or `invalidate()`.
    public func update(_ value: Value) {
        guard link.isValid else { return }
        let (mustResume, before) = state.withLock { state -> (Bool, Value?) in
            guard !state.isFinishing else { return (false, value) }
            let before = state.latest
            state.latest = value
            defer { state.isRunning = true }
            return (!state.isRunning, before)
        }
        // Freed without the lock.
        withExtendedLifetime(before) {}
        if mustResume { link.isPaused = false }
    }

    /// Delivers the pending update at the next refresh, and then ends.
    public func finish() {
        let isDone = state.withLock { state in
            state.isFinishing = true
            return state.latest == nil
        }
        if isDone { invalidate() }
    }

    /// Ends at once, unlike `finish()`: a pending update is never delivered.
    ///
    /// Idempotent.
    public func invalidate() {
        link.invalidate()
        let latest = state.withLock { state in
            state.isFinishing = true
            return state.latest.take()
        }
        withExtendedLifetime(latest) {}
    }

    /// Whether no call is pending.
    var isIdle: Bool { link.isPaused }

    private func tick(_ handler: (Value) -> Void) {
        let (value, isFinishing) = state.withLock { state -> (Value?, Bool) in
            if state.latest == nil { state.isRunning = false }
            return (state.latest.take(), state.isFinishing)
        }
        if let value { handler(value) }
        if isFinishing { return invalidate() }
        guard value == nil else { return }
        link.isPaused = true
        // An update may have come meanwhile, and have resumed the link before this paused it.
        if state.withLock({ $0.isRunning }) { link.isPaused = false }
    }
}
#endif

/// A handler that keeps its state under the engine's lock: its call begins and ends inside the engine's own critical
/// sections, and is made up before its deadline where the engine is awake by then.
///
/// Each `begin` that gives a call is followed by one `end`.
package protocol StagedHandler: AnyObject, Sendable {
    /// The deadline that the timer was moved to without telling the engine, later than the one that has come; nil if it was
    /// not. With the engine's lock held.
    func laterDeadline() -> Int64?

    /// Makes up the call as of `now_ns`, the deadline or later. Nil if there is nothing to call. With the engine's lock held.
    func begin(_ now_ns: Int64, _ engine: inout EngineState) -> StagedCall?

    /// After the call; or without one, if it was called off: then everything becomes as it was before `begin`, but for what
    /// others changed since. With the engine's lock held; what it gives is to be called after the lock.
    func end(wasCalled: Bool, _ engine: inout EngineState) -> Callback?

    /// The engine was shut down with the timer pending, and calls nothing any more. Once, without a lock, on the thread that
    /// shut it down; after `end` if a call was going on.
    func engineHasEnded()
}

/// What a staged handler has to call.
package struct StagedCall: Sendable {
    package var callback: Callback
    /// Ticks beside the one of the call.
    package var missedTicks: Int
    /// May be called as soon as a precise wait has woken for it: it sees to it that nothing comes of that before the deadline.
    package var isEarly: Bool

    package init(_ callback: Callback, missedTicks: Int, isEarly: Bool = false) {
        self.callback = callback
        self.missedTicks = missedTicks
        self.isEarly = isEarly
    }
}

/// A function in a struct: by itself it is wrapped when it passes through what is generic, an optional too, and code that is
/// not optimised allocates each wrapping. Usable from inline code for `Locked`'s reason.
@usableFromInline package struct Callback: Sendable {
    @usableFromInline package let run: @Sendable () -> Void

    @inlinable
    package init(_ run: __owned @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Who keeps the state of its timer under the core's lock: a source, a loop's timer, a sleep. Its calls are prepared
/// and finished in the core's own critical sections.
///
/// Each `prepare` that is true is followed by one `finish`.
package protocol TimerOwner: AnyObject, Sendable {
    /// The deadline that the timer was moved to without telling the core, later than the one that has come; nil if it
    /// was not. With the core's lock held.
    func laterDeadline() -> Int64?

    /// The deadline that holds of a timer that the core has armed for `armed_ns`; `Int64.max` if none does. With the core's lock
    /// held.
    func shownDeadline_ns(_ armed_ns: Int64) -> Int64

    /// Prepares the call as of `now_ns`, the deadline or later. False if there is nothing to call. With the core's lock held.
    func prepare(_ now_ns: Int64, _ timer: TimerToken, _ core: inout FiringCore, _ call: inout PreparedCall) -> Bool

    /// After the call; or without one, if it was withdrawn: then everything becomes as it was before `prepare`, but for
    /// what others changed since. With the core's lock held.
    func finish(wasCalled: Bool, _ now_ns: Int64, _ timer: TimerToken, _ core: inout FiringCore, _ end: inout FireEnd)

    /// The core has ended with the timer pending, and calls nothing any more. Once, without a lock, on the thread that
    /// ended it; after `finish` if a call was going on.
    func coreHasEnded()
}

extension TimerOwner {
    package func laterDeadline() -> Int64? { nil }
    package func shownDeadline_ns(_ armed_ns: Int64) -> Int64 { armed_ns }
}

/// What an owner has to call.
package struct PreparedCall: ~Copyable {
    package enum Callee: Sendable {
        case callback(Callback)
        /// Called with the owner.
        case function(OwnerFunction)
    }

    /// Nil once it is called.
    package var callee: Callee?
    /// Ticks beside the one of the call.
    package var missedTicks = 0
    /// May be called as soon as a precise wait has woken for it: the callee makes sure that nothing comes of that
    /// before the deadline.
    package var isEarly = false
    /// The object that the driver informs of the call before it makes it.
    package var companion: AnyObject?

    package init() {}
}

/// A function of the owner, whose type the core does not know.
@usableFromInline package struct OwnerFunction: Sendable {
    @usableFromInline package let call: @Sendable (AnyObject) -> Void

    @inlinable
    package init(_ call: __owned @escaping @Sendable (AnyObject) -> Void) { self.call = call }
}

/// What an owner leaves to be done when the lock is let go, and whether its timer goes.
package struct FireEnd: ~Copyable {
    package var block: Callback?
    /// The timer is removed: it fires no more.
    package var removesTimer = false
    package var released = Released()

    package init() {}
}

/// What a user's code may be freed with: to be let go without the lock.
package struct Released {
    package var function: OwnerFunction?
    package var objects: (AnyObject?, AnyObject?)

    package init() {}

    var isEmpty: Bool { function == nil && objects.0 == nil && objects.1 == nil }
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

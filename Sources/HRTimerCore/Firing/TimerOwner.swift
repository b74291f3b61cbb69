#if os(Linux)
/// Who keeps the state of its timer under the core's lock: a source, a loop's timer, a sleep. Its calls are prepared
/// and finished in the core's own critical sections.
///
/// Each `prepare` that is true is followed by one `finish`.
package protocol TimerOwner: AnyObject, Sendable {
    /// The deadline that the timer was moved to without telling the core, later than the one that has come; nil if it
    /// was not. With the core's lock held.
    func laterDeadline(_ core: inout FiringCore) -> Int64?

    /// The deadline that holds of a timer that the core has armed for `armed_ns`; `Int64.max` if none does. With the core's
    /// lock held.
    func shownDeadline_ns(_ armed_ns: Int64) -> Int64

    /// Prepares the call as of `now_ns`, the deadline or later: what to call goes into the fire. False if there is nothing
    /// to call. With the core's lock held.
    func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool

    /// After the call; or without one, if it was withdrawn: then everything becomes as it was before `prepare`, but for
    /// what others changed since. With the core's lock held.
    func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire)

    /// Whether the call that is about to be made only submits the handler's, to a queue, an actor or a task, which tells a
    /// watched core by itself; `submitted` is what is known of it by now. Without a lock, on the core's thread, before the call.
    func notesSubmission(_ submitted: () -> SubmittedCall) -> Bool

    /// The core has ended with the timer pending, and calls nothing any more. Once, without a lock, on the thread that
    /// ended it; after `finish` if a call was going on.
    func coreHasEnded()
}

extension TimerOwner {
    package func laterDeadline(_ core: inout FiringCore) -> Int64? { nil }
    package func shownDeadline_ns(_ armed_ns: Int64) -> Int64 { armed_ns }
    package func notesSubmission(_ submitted: () -> SubmittedCall) -> Bool { false }
}

/// A function of the owner, whose type the core does not know.
@usableFromInline package struct OwnerFunction: Sendable {
    @usableFromInline package let call: @Sendable (AnyObject) -> Void

    @inlinable
    package init(_ call: __owned @escaping @Sendable (AnyObject) -> Void) { self.call = call }
}

/// What a user's code may be freed with: to be let go without the lock.
package struct Released {
    package var function: OwnerFunction?
    package var object: AnyObject?

    package init() {}
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
#endif

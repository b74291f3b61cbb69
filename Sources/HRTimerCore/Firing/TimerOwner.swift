// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// An object that keeps the state of its timer under the core's lock: a source, a loop's timer, a sleep. Its calls are prepared
/// and finished in the core's own critical sections.
///
/// Each `prepare` that returns true is followed by one `finish`.
package protocol TimerOwner: AnyObject, Sendable {
    /// Returns the deadline that the timer was moved to without telling the core, if that is later than the one that has come, or
    /// is about to, for which the core armed it; nil otherwise. Called with the core's lock held.
    func laterDeadline(_ core: inout FiringCore, than armed_ns: Int64) -> Int64?

    /// Returns the deadline that holds for a timer that the core has armed for `armed_ns`; `Int64.max` if none does. Not
    /// earlier than that. Called with the core's lock held.
    func shownDeadline_ns(_ armed_ns: Int64) -> Int64

    /// Prepares the call as of `now_ns`, the deadline or later, and puts what to call into the fire. What follows the call is for
    /// `finish` to store, since the call may be withdrawn. Returns false if there is nothing to call. Called with the core's lock
    /// held.
    func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool

    /// Ends the call, which was withdrawn if `wasCalled` is false. Called with the core's lock held.
    func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire)

    /// Notes that the core has ended while the timer was pending, and calls nothing any more. Called once, without a lock: on
    /// the thread that ended the core or, if a call was under way, on the thread of that call, after `finish`.
    func coreHasEnded()
}

extension TimerOwner {
    package func laterDeadline(_ core: inout FiringCore, than armed_ns: Int64) -> Int64? { nil }
    package func shownDeadline_ns(_ armed_ns: Int64) -> Int64 { armed_ns }
}

/// A function that takes the owner, whose type the core does not know.
@usableFromInline package struct OwnerFunction: Sendable {
    @usableFromInline package let call: @Sendable (AnyObject) -> Void

    @inlinable
    package init(_ call: __owned @escaping @Sendable (AnyObject) -> Void) { self.call = call }
}

/// References whose release may free a user's objects: to be released without the lock.
package struct Released {
    package var function: OwnerFunction?
    package var object: AnyObject?

    package init() {}
}

/// A function in a struct. A bare function is wrapped whenever it passes through generic code, which includes optionals, and
/// code that is not optimised allocates memory for each wrapping. Usable from inline code for the reason that `Locked` gives.
@usableFromInline package struct Callback: Sendable {
    @usableFromInline package let run: @Sendable () -> Void

    @inlinable
    package init(_ run: __owned @escaping @Sendable () -> Void) {
        self.run = run
    }
}
#endif

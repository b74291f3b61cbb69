// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// State that a source on the engine's thread with nothing but an event handler does not need. It is apart, so that such a
/// source's object takes 136 bytes (SourceMemoryTests): servers have hundreds of thousands of them (`bench ops memory`).
struct SourceExtras {
    /// The members that are freed when the source has ended.
    struct Owned {
        var registration: Callback?
        var cancel: Callback?
        /// Where the handlers run; nil for the engine's thread.
        var target: SourceCore.Target?
        /// The actor that the event handler belongs to, if any.
        var actor: (any Actor)?
        /// Submits a call to the target, and from there to the actor.
        var submit: Callback?
        /// Expires at a deadline on another clock than the engine's; nil if the deadlines are on the engine's clock.
        var alarm: ClockAlarm?
    }

    var owned = Owned()
    /// The lead of calls on a queue, if the source or its engine is precise; nil otherwise.
    var lead: SourceLead?
    /// The handlers that are called for late calls; nil if there are none.
    var lateHandlers: LateHandlers?
    /// What is known of the submission of the call in flight, if the engine is watched.
    var submitted: SubmittedCall?
}

extension SourceCore.State {
    /// Returns the extras, which are allocated when the first member is set. Safe with the lock held: they are not freed before the
    /// source is.
    @safe mutating func makeExtras() -> UnsafeMutablePointer<SourceExtras> {
        if let extras { return unsafe extras }
        @safe let made = UnsafeMutablePointer<SourceExtras>.allocate(capacity: 1)
        unsafe made.initialize(to: SourceExtras())
        extras = made
        return made
    }

    /// Frees the extras. Without the lock: no other thread has the source any more.
    mutating func freeExtras() {
        guard let extras = unsafe extras.take() else { return }
        unsafe extras.deinitialize(count: 1)
        unsafe extras.deallocate()
    }

    var target: SourceCore.Target? { extras?.pointee.owned.target }
    var actor: (any Actor)? { extras?.pointee.owned.actor }
    var submit: Callback? { extras?.pointee.owned.submit }
    var alarm: ClockAlarm? { extras?.pointee.owned.alarm }
    /// Whether a loop, which may end before that, makes the calls.
    var isCalledByLoop: Bool { actor == nil && target.map { !$0.hasThreads } ?? false }
    var lateHandlers: LateHandlers? { extras?.pointee.lateHandlers }
    var hasLead: Bool { extras?.pointee.lead != nil }
    var hasRegistration: Bool { extras?.pointee.owned.registration != nil }
    var hasCancelHandler: Bool { extras?.pointee.owned.cancel != nil }
}
#endif

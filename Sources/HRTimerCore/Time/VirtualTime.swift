// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A set of clocks that move only when a program moves them. Any thread.
package protocol VirtualTime: AnyObject, Sendable {
    /// The reading of the monotonic clock.
    var now_ns: Int64 { get }

    /// The seed from which random numbers without a seed of their own follow.
    var seed: UInt64 { get }

    /// Returns how far another clock is ahead of the monotonic one; 0 for the monotonic clock itself.
    func offset_ns(of clock: TimerClock) -> Int64

    /// Adds a participant, which is held weakly: from now on, moving the clock fires its due timers.
    func attach(_ participant: any VirtualTimeParticipant)

    /// Waits on behalf of a thread that has nothing to do before `instant_ns`, or until `waiter` is woken. Users see that
    /// the thread waits for `deadline_ns`, which is not earlier.
    func wait(until instant_ns: Int64, for deadline_ns: Int64, _ waiter: any VirtualWaiter) -> VirtualWait

    /// Whether threads pass the baton. If so, a thread that another one may wait for blocks only by `wait(until:for:_:)`.
    var passesBaton: Bool { get }

    /// Whether the calling thread belongs to this time alone.
    var ownsThread: Bool { get }

    /// Announces work of this time that continues elsewhere, on a queue or another thread: the clock stands still until the
    /// baton is given back. Returns nil if this time has no batons.
    func expectBaton(_ name: @autoclosure () -> String) -> (any VirtualBaton)?

    /// Makes the clock stand still until the hold has ended, whatever else happens. Returns nil if this time does not wait
    /// for holds.
    func hold(_ name: @autoclosure () -> String) -> (any VirtualHold)?

    /// Calls `body` on the calling thread, which first takes the baton if it is unmanaged.
    func enter<Result, Failure: Error>(
        _ name: @autoclosure () -> String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// Returns this time's own instance of an object that is a singleton of the process; nil if this time uses the process's.
    func own(_ key: ObjectIdentifier, _ make: () -> any AnyObject & Sendable) -> (any AnyObject & Sendable)?

    /// Notes, for messages, that the task on the calling thread is about to sleep.
    func noteSleep(until deadline_ns: Int64, on participant: ObjectIdentifier)

    /// Notes that the task on the calling thread has slept.
    func noteEndOfSleep()
}

extension VirtualTime {
    package var seed: UInt64 { 0 }
    package var passesBaton: Bool { false }
    package var ownsThread: Bool { false }
    package func expectBaton(_ name: @autoclosure () -> String) -> (any VirtualBaton)? { nil }
    package func hold(_ name: @autoclosure () -> String) -> (any VirtualHold)? { nil }
    package func own(_ key: ObjectIdentifier, _ make: () -> any AnyObject & Sendable) -> (any AnyObject & Sendable)? {
        nil
    }
    package func noteSleep(until deadline_ns: Int64, on participant: ObjectIdentifier) {}
    package func noteEndOfSleep() {}

    package func enter<Result, Failure: Error>(
        _ name: @autoclosure () -> String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try CurrentTime.with(self, body)
    }
}

/// An object that runs timers when the virtual clock reaches them, on the thread that moves the clock.
package protocol VirtualTimeParticipant: AnyObject, Sendable {
    /// The earliest deadline on the monotonic clock as users see it; `Int64.max` if there is none.
    var nextDeadline_ns: Int64 { get }

    /// When its thread would be awake, if it had one: at `nextDeadline_ns` or earlier; `Int64.max` for never.
    var nextWake_ns: Int64 { get }

    /// Fires all timers that are due at the clock's present reading, but not those that become due meanwhile. Returns false
    /// if no deadline has come, for example because the participant was awake for a deadline that was moved.
    @discardableResult
    func runDue() -> Bool

    /// Tells the participant that it was woken. Any thread, without a lock.
    func hasBeenWoken()

    /// Tells the participant that some of the clocks have another reading. Any thread, also one that runs a handler of this
    /// participant.
    func clockHasMoved()

    /// The participant's name in messages.
    var name: String { get }

    /// The number of its timers.
    var liveTimers: Int { get }
}

/// The source of the wakes and the work that an idle thread waits for.
package protocol VirtualWaiter: AnyObject, Sendable {
    /// Whether it was woken. Any thread.
    var isWoken: Bool { get }

    /// Takes work that has come, also from outside virtual time; returns nil if there is none. Called by the waiting
    /// thread, or by another thread while the waiting one is blocked.
    func look() -> VirtualWait.Found?
}

/// The result of a wait.
package enum VirtualWait: Sendable {
    package struct Found: Sendable {
        package var isWoken: Bool
        package var isReady: Bool

        package init(isWoken: Bool, isReady: Bool) {
            self.isWoken = isWoken
            self.isReady = isReady
        }
    }

    /// The clock has moved, or the waiter was woken.
    case moved
    /// The work that the waiter found.
    case found(Found)
    /// There is no deadline to move to, neither the caller's nor a participant's: the caller must wait in real time.
    case nothing
    /// The clock does not move any more.
    case over
}

/// A piece of work of a virtual time on another thread.
package protocol VirtualBaton: AnyObject, Sendable {
    /// Waits for the baton, calls `body`, and gives the baton back. If this object is released without a call, the baton is
    /// given back, too.
    func run(_ body: () -> Void)
}

/// A hold that keeps a virtual clock from moving until it is released or dropped.
package protocol VirtualHold: AnyObject, Sendable {
    /// Ends the hold. Idempotent.
    func release()
}
#endif

#if os(Linux)
/// Clocks that move only when a program moves them. Any thread.
package protocol VirtualTime: AnyObject, Sendable {
    /// The reading of the monotonic clock.
    var now_ns: Int64 { get }

    /// What random numbers without a seed of their own follow from.
    var seed: UInt64 { get }

    /// How far another clock is ahead of the monotonic one; 0 for that one itself.
    func offset_ns(of clock: TimerClock) -> Int64

    /// From now on, moving the clock fires the due timers of `participant`. Held weakly.
    func attach(_ participant: any VirtualTimeParticipant)

    /// For a thread that has nothing to do before `instant_ns`, or until `waiter` is woken. Users see that it waits for
    /// `deadline_ns`, which is not earlier.
    func wait(until instant_ns: Int64, for deadline_ns: Int64, _ waiter: any VirtualWaiter) -> VirtualWait

    /// Whether threads pass the baton. If so, a thread that another one may wait for blocks by `wait(until:_:)` alone.
    var passesBaton: Bool { get }

    /// Whether the calling thread belongs to this time alone.
    var ownsThread: Bool { get }

    /// For work of this time that continues elsewhere, on a queue or another thread: the clock stands still until the
    /// baton is given back. Nil if this time has no batons.
    func expectBaton(_ name: @autoclosure () -> String) -> (any VirtualBaton)?

    /// Makes the clock stand still until the hold has ended, whatever else happens. Nil if this time does not wait for
    /// holds.
    func hold(_ name: @autoclosure () -> String) -> (any VirtualHold)?

    /// Calls `body` on the calling thread, which takes the baton if it is unmanaged.
    func enter<Result, Failure: Error>(
        _ name: @autoclosure () -> String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// This time's own instance of an object that is a singleton of the process; nil if it uses the process's.
    func own(_ key: ObjectIdentifier, _ make: () -> any AnyObject & Sendable) -> (any AnyObject & Sendable)?

    /// For messages: the task on the calling thread is about to sleep.
    func noteSleep(until deadline_ns: Int64, on participant: ObjectIdentifier)
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

    package func enter<Result, Failure: Error>(
        _ name: @autoclosure () -> String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try CurrentTime.with(self, body)
    }
}

/// Something that runs timers when the virtual clock reaches them, on the thread that moves the clock.
package protocol VirtualTimeParticipant: AnyObject, Sendable {
    /// The earliest deadline on the monotonic clock as users see it, or `Int64.max`.
    var nextDeadline_ns: Int64 { get }

    /// When its thread would be awake, had it one: at that deadline or earlier; `Int64.max` for never.
    var nextWake_ns: Int64 { get }

    /// Fires all timers that are due at the clock's present reading, but not those that become due meanwhile. False if
    /// nothing has come, as where it is awake for a deadline that was moved.
    @discardableResult
    func runDue() -> Bool

    /// It was woken. Any thread, without a lock.
    func hasBeenWoken()

    /// Some of the clocks have another reading. On any thread, also one that runs a handler of this participant.
    func clockHasMoved()

    /// For messages.
    var name: String { get }

    /// The number of its timers.
    var liveTimers: Int { get }
}

/// What an idle thread waits for.
package protocol VirtualWaiter: AnyObject, Sendable {
    /// Whether it was woken. Any thread.
    var isWoken: Bool { get }

    /// Takes work that has come, also from outside virtual time; nil if there is none. Called by the waiting thread, or
    /// by another one while that is blocked.
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
    /// The work that the waiter had.
    case found(Found)
    /// There is no deadline to move to, neither here nor at a participant: the caller must wait in real time.
    case nothing
    /// The clock does not move any more.
    case over
}

/// Work of a virtual time on another thread.
package protocol VirtualBaton: AnyObject, Sendable {
    /// Waits for the baton, calls `body`, and gives the baton back. If this object is dropped, the baton is given back,
    /// too.
    func run(_ body: () -> Void)
}

/// Keeps a virtual clock from moving until it is released or dropped.
package protocol VirtualHold: AnyObject, Sendable {
    /// Idempotent.
    func release()
}
#endif

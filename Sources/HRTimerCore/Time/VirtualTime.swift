/// Clocks that move only when a program moves them. Any thread.
package protocol VirtualTime: AnyObject, Sendable {
    /// What the monotonic clock reads.
    var now_ns: Int64 { get }

    /// How far another clock is ahead of the monotonic one; 0 for that one itself.
    func offset_ns(of clock: TimerClock) -> Int64

    /// From now on, moving the clock runs what is due at `participant`. Held weakly.
    func attach(_ participant: any VirtualTimeParticipant)

    /// For a thread that has nothing to do before `instant_ns`, or until `waiter` is woken. Users see that it waits for
    /// `deadline_ns`, which is not earlier.
    func wait(until instant_ns: Int64, for deadline_ns: Int64, _ waiter: any VirtualWaiter) -> VirtualWait

    /// Whether threads pass the baton: then a thread that another one could wait for blocks only by `wait(until:_:)`.
    var passesBaton: Bool { get }

    /// Whether the calling thread belongs to this time alone.
    var ownsThread: Bool { get }

    /// For work of this time that is about to go on elsewhere, on a queue or another thread: the clock stands still
    /// until the baton is given back. Nil where nobody waits for batons.
    func expectBaton(_ name: @autoclosure () -> String) -> (any VirtualBaton)?

    /// Has the clock stand still until the hold has ended, whatever else goes on. Nil where nobody waits for it.
    func hold(_ name: @autoclosure () -> String) -> (any VirtualHold)?

    /// Calls `body` on the calling thread, which takes the baton if this time does not know the thread yet.
    func enter<Result, Failure: Error>(
        _ name: @autoclosure () -> String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result

    /// This time's own instance of an object that the process has one of; nil if it uses the process's.
    func own(_ key: ObjectIdentifier, _ make: () -> any AnyObject & Sendable) -> (any AnyObject & Sendable)?

    /// The task that runs on the calling thread is about to sleep: for messages.
    func noteSleep(until deadline_ns: Int64, on participant: ObjectIdentifier)
}

extension VirtualTime {
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

    /// Runs all that is due at the clock's present reading; not what falls due while it does so. False if nothing has come, as
    /// where it is awake for a deadline that was moved.
    func runDue() -> Bool

    /// It was woken. Any thread, without a lock.
    func hasBeenWoken()

    /// Some of the clocks have another reading. On any thread, one that runs a handler of its too.
    func clockHasMoved()

    /// For messages.
    var name: String { get }

    /// How many timers it has.
    var liveTimers: Int { get }
}

/// What a thread waits for that has nothing to do.
package protocol VirtualWaiter: AnyObject, Sendable {
    /// Whether somebody has woken it. Any thread.
    var isWoken: Bool { get }

    /// Takes what has come, of the real world too; nil if there is nothing. Called by the waiting thread, or by another one
    /// while that is blocked.
    func look() -> VirtualWait.Found?
}

/// What came of a wait.
package enum VirtualWait: Sendable {
    package struct Found: Sendable {
        package var isWoken: Bool
        package var isReady: Bool

        package init(isWoken: Bool, isReady: Bool) {
            self.isWoken = isWoken
            self.isReady = isReady
        }
    }

    /// The clock has moved, or the waiter is woken.
    case moved
    /// What the waiter had when it was looked at last.
    case found(Found)
    /// There is no deadline to move to, here or at any participant: the caller must wait for real.
    case nothing
    /// The clock does not move any more.
    case over
}

/// Work of a virtual time on another thread.
package protocol VirtualBaton: AnyObject, Sendable {
    /// Waits until it has the right to run, calls `body`, and gives the baton back. A baton that is let go is given
    /// back.
    func run(_ body: () -> Void)
}

/// Something that keeps a virtual clock from moving, until it has ended or is let go.
package protocol VirtualHold: AnyObject, Sendable {
    /// Idempotent.
    func end()
}

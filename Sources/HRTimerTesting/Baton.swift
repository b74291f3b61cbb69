// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimer
import HRTimerLibc

/// Work of a virtual time on another thread than the time's own: a loop's thread, a block on a queue, `enter`.
///
/// One baton runs at a time, and never beside the time's own thread: the thread that has its baton runs alone. The thread
/// passes the baton on when it waits on the time, as a sleeping loop does, or when its work ends.
final class Baton: @unchecked Sendable {
    // Sendable: the phase and what belongs to it change only with the scheduler's lock held.

    enum Phase {
        /// Waits for the scheduler to pass it the baton.
        case waiting
        case running
        /// Has nothing to do before `until_ns`, when it wakes for the deadline.
        case parked(until_ns: Int64, deadline_ns: Int64, any VirtualWaiter)
        case ended
    }

    let number: Int
    let name: String
    let time: ManualTime
    let scheduler: DeterministicScheduler
    var phase = Phase.waiting
    /// What the waiter found to do, if that is why the baton runs again.
    var found: VirtualWait.Found?
    /// Whether it has run for so long that others go on beside it; the clock still stands.
    var isSlow = false

    init(number: Int, name: String, time: ManualTime, scheduler: DeterministicScheduler) {
        self.number = number
        self.name = name
        self.time = time
        self.scheduler = scheduler
    }

    var isRunning: Bool {
        if case .running = phase { return true }
        return false
    }

    var isWaiting: Bool {
        if case .waiting = phase { return true }
        return false
    }

    var hasEnded: Bool {
        if case .ended = phase { return true }
        return false
    }

    func running<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        scheduler.begin(self)
        defer { scheduler.end(self) }
        return try CurrentTime.with(time, body)
    }
}

/// The ticket of code that is to run with a baton. If it is freed without a call of `run`, it ends the baton.
final class BatonTicket: VirtualBaton {
    private let baton: Baton

    init(_ baton: Baton) {
        self.baton = baton
    }

    deinit {
        baton.scheduler.end(baton)
    }

    func run(_ body: () -> Void) { baton.running(body) }
}

/// Keeps a clock of `withManualTime` from moving until it is released or freed: for work that virtual time does not know of, on
/// the network, on a queue, on the main actor.
///
/// Tasks of that time run meanwhile. Any thread.
public final class TimeHold: Sendable {
    private let scheduler: DeterministicScheduler
    private let number: Int

    init(_ scheduler: DeterministicScheduler, _ number: Int) {
        self.scheduler = scheduler
        self.number = number
    }

    deinit {
        release()
    }

    /// Lets the clock move again, if there is no other hold.
    ///
    /// Idempotent.
    public func release() {
        scheduler.endHold(number)
    }
}

extension TimeHold: VirtualHold {}
#endif

// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

// What the users of an engine request.
extension FiringCore {
    /// Brings the reading of the latest poll up to date before a timer is armed, maybe by a handler. A call that was prepared
    /// before its deadline is made as of that deadline, so what is due by then comes before. If the clock was set back since,
    /// a deadline that it had passed has not come any more.
    package mutating func lookAgain(_ deadline_ns: Int64, _ now_ns: @autoclosure () -> Int64) {
        guard isFiring else { return }
        let isCommitted = prepared != .stale && commit.isCommitted
        let polled_ns = isCommitted ? max(looked_ns, preparedPlace_ns) : looked_ns
        if deadline_ns <= polled_ns { looked_ns = min(polled_ns, now_ns()) }
    }

    /// How much later than its deadline the timer may fire to share a wake-up.
    func allowedLateness_ns(of slot: UInt32) -> Int64 {
        precision == .coalesced && !records[slot].isPrecise ? records[slot].allowedTolerance_ns : 0
    }

    /// Beyond so many timers, a wake-up for each costs more than it is worth to those that requested no tolerance.
    private static var crowd: Int { 4096 }

    func options(_ request: TimerRequest) -> TimerOptions {
        let precision = max(request.precision ?? .coalesced, self.precision)
        var tolerance_ns = request.tolerance_ns
        if request.crowdTolerance_ns > tolerance_ns, count > Self.crowd {
            tolerance_ns = request.crowdTolerance_ns
        }
        return TimerOptions(
            tolerance_ns: precision == .coalesced ? max(0, tolerance_ns) : 0,
            isPrecise: precision == .precise && self.precision != .precise
        )
    }

    /// Moves a user's timer to another deadline. Ticks that no call has reported are forgotten. Returns true if the caller must
    /// wake the thread, and nil if the token is stale.
    mutating func reschedule(
        _ token: TimerToken,
        to deadline: ExactInstant,
        interval: RescheduledInterval = .same,
        _ now_ns: @autoclosure () -> Int64
    ) -> Bool? {
        guard !isShutDown, isLive(token) else { return nil }
        let isWithdrawn = withdraw(token)
        if case .new(let interval) = interval {
            let policy = records[token.slot].schedule.recurrence.policy
            records[token.slot].schedule.recurrence = Recurrence(every: interval, policy: policy)
        }
        lookAgain(deadline.rounded_ns, now_ns())
        setPosition(GridPosition(deadline), token)
        return mustWake(for: token, records[token.slot].schedule.deadline_ns, now_ns()) || isWithdrawn
    }

    /// Returns the deadline of the timer's next call. While the timer's handler runs, that is the deadline it was called for,
    /// unless it has set another. Returns nil if the token is stale, and `Int64.max` if the timer waits for no deadline.
    func deadline_ns(of token: TimerToken) -> Int64? {
        guard !isShutDown, isLive(token) else { return nil }
        return records[token.slot].schedule.deadline_ns
    }

    struct Cancelled: ~Copyable {
        /// Whether the timer was not called for its present deadline, and never will be.
        var wasPending = false
        var mustWake = false
        /// The timer's target, to be released after unlocking: what its handler captured may call back when it is freed.
        var target: TimerTarget?
    }

    mutating func cancel(_ token: TimerToken) -> Cancelled {
        var cancelled = Cancelled()
        guard !isShutDown, isLive(token) else { return cancelled }
        cancelled.mustWake = withdraw(token)
        // An earlier deadline may have withdrawn the call, which then has not begun either. A repeating timer has a further
        // deadline already, and that is the one that is cancelled.
        cancelled.wasPending = !hasBegun(token) || records[token.slot].schedule.recurrence.repeats || isArmed(token)
        _ = remove(token, &cancelled.target)
        return cancelled
    }

    /// Whether the running handler makes its timer's last call. Such a timer can no longer be cancelled or dropped.
    private var isInLastCall: Bool {
        guard let running, isUntouchedSinceCall(running.token) else { return false }
        let slot = running.token.slot
        return !records[slot].isOwned && !records[slot].schedule.recurrence.repeats && hasBegun(running.token)
    }

    var liveTimers: Int { isShutDown ? 0 : count - (isInLastCall ? 1 : 0) }

    /// The number of the users' own timers that wait for a call.
    var pendingTimers: Int {
        mutating get {
            if isShutDown { return 0 }
            var count = isInLastCall ? -1 : 0
            records.forEachSlot { if !$1.isOwned { count += 1 } }
            return count
        }
    }

    /// The number of the users' own timers that have a deadline which will come.
    var dueTimers: Int {
        mutating get {
            if isShutDown { return 0 }
            var count = 0
            records.forEachSlot { if !$1.isOwned, $1.schedule.position.deadline_ns < .max { count += 1 } }
            return count
        }
    }
}
#endif

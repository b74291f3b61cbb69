// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// How often a timer fires: once, or at an interval with a policy for missed ticks.
///
/// The one place that decides a repeating timer's next deadline, at the begin and at the end of a call, for engine, loop,
/// source and tick sequence alike. Pure: the caller passes the time in. O(1) however many ticks were missed.
package struct Recurrence: Sendable, Equatable {
    /// The interval; zero for a timer that fires once.
    package let interval: ExactInterval
    package let policy: MissedTickPolicy

    package static var once: Recurrence {
        Recurrence(interval: ExactInterval(whole_ns: 0), policy: .merge)
    }

    /// The interval that replaces one of less than a nanosecond, zero or less, as on Darwin: it fires often, but does not take a whole core.
    package static var intervalForNonpositive_ns: Int64 { 100_000 }

    package init(interval: ExactInterval, policy: MissedTickPolicy) {
        self.interval = interval
        self.policy = policy
    }

    package init(every interval: Duration?, policy: MissedTickPolicy) {
        guard let interval else {
            // The policy counts if an interval is set later.
            self.init(interval: ExactInterval(whole_ns: 0), policy: policy)
            return
        }
        let exact = ExactInterval(interval)
        if exact.whole_ns > 0 {
            self.init(interval: exact, policy: policy)
        } else {
            // Also for a positive one below a nanosecond, which is as little meant.
            self.init(interval: ExactInterval(whole_ns: Self.intervalForNonpositive_ns), policy: policy)
        }
    }

    package var repeats: Bool { interval.whole_ns != 0 }

    /// Returns the same interval with another policy.
    package func with(_ policy: MissedTickPolicy) -> Recurrence { Recurrence(interval: interval, policy: policy) }

    /// Returns the tolerance that counts: not negative, and at most half the interval, so that no tick comes as late as the
    /// next.
    package func tolerance_ns(requested requested_ns: Int64) -> Int64 {
        min(max(0, requested_ns), repeats ? interval.whole_ns / 2 : .max)
    }
}

/// How far a timer has come on its grid: its next nominal deadline, and the ticks that no call has reported yet.
package struct GridPosition: Sendable, Equatable {
    /// Ticks without a call since the last call, for the next one to report.
    package var unreported: Int
    package var deadline: ExactInstant

    package init(_ deadline: ExactInstant) { (self.deadline, unreported) = (deadline, 0) }

    package init(deadline_ns: Int64, roundedUp_as: UInt32 = 0, unreported: Int = 0) {
        deadline = ExactInstant(deadline_ns, roundedUp_as: roundedUp_as)
        self.unreported = unreported
    }

    /// The next nominal deadline, without jitter; `Int64.max` while there is none: fired once, or a fixed delay that begins when
    /// the handler returns.
    package var deadline_ns: Int64 {
        get { deadline.rounded_ns }
        set { deadline.rounded_ns = newValue }
    }

    /// Counts ticks that had no call.
    package mutating func miss(_ count: Int64) { unreported = Int(Int64(unreported).addingSaturating(count)) }

    /// Moves to another deadline. Unreported ticks stay unreported.
    package mutating func move(to deadline: ExactInstant) { self.deadline = deadline }

    /// Returns the latest nominal deadline at or before `now_ns`, which must not be before this one.
    fileprivate func latest_ns(at now_ns: Int64, every interval: ExactInterval) -> Int64 {
        var latest = deadline
        latest.advance(by: interval, times: deadline.count(of: interval, to: now_ns))
        return latest.rounded_ns
    }

    /// Moves to the first nominal deadline after `now_ns`. Returns how many lie between that and the former one.
    fileprivate mutating func pass(_ now_ns: Int64, by interval: ExactInterval) -> Int {
        let (late_ns, overflow) = now_ns.subtractingReportingOverflow(deadline.rounded_ns)
        // A division takes as long as the rest of a call, and mostly there is nothing to divide.
        if !overflow, late_ns < interval.whole_ns {
            deadline.advance(by: interval)
            return 0
        }
        let missed = deadline.count(of: interval, to: now_ns)
        deadline.advance(by: interval, times: missed + 1)
        return Int(clamping: missed)
    }
}

extension Recurrence {
    /// Decides about the deadline of `position`, which has come, with its jitter: `deadline_ns <= now_ns`, the instant of the
    /// call. See `MissedTickPolicy.begin`; a timer that fires once has no next deadline.
    package func begin(_ position: inout GridPosition, now_ns: Int64, _ jitter: TickJitter? = nil) -> Int? {
        guard repeats else {
            defer { position = GridPosition(deadline_ns: .max) }
            return position.unreported
        }
        var place = GridPlace(position: position, recurrence: self, jitter: jitter)
        defer { position = place.position }
        return policy.begin(&place, now_ns: now_ns)
    }

    /// Decides about the next deadline when the handler has returned at `now_ns`.
    package func end(_ position: inout GridPosition, now_ns: Int64, _ jitter: TickJitter? = nil) {
        guard repeats else { return }
        var place = GridPlace(position: position, recurrence: self, jitter: jitter)
        policy.end(&place, now_ns: now_ns)
        position = place.position
    }
}

/// A position on the grid of a recurrence, whose ticks may have a jitter.
private struct GridPlace: TickPlace {
    var position: GridPosition
    let recurrence: Recurrence
    let jitter: TickJitter?

    var unreported: Int {
        get { position.unreported }
        set { position.unreported = newValue }
    }

    mutating func advance() { position.deadline.advance(by: recurrence.interval) }

    mutating func pause() { position.deadline_ns = .max }

    mutating func restart(at now_ns: Int64) {
        position.move(to: ExactInstant(now_ns))
        advance()
    }

    func hasCome(by now_ns: Int64) -> Bool { position.deadline_ns <= passable_ns(now_ns) }

    mutating func pass(_ now_ns: Int64) -> Int { position.pass(passable_ns(now_ns), by: recurrence.interval) }

    /// Returns the instant up to which nominal deadlines have come: the latest may still wait for its jitter, and is not
    /// missed.
    private func passable_ns(_ now_ns: Int64) -> Int64 {
        guard let jitter, position.deadline_ns <= now_ns else { return now_ns }
        let latest_ns = position.latest_ns(at: now_ns, every: recurrence.interval)
        return jitter.deadline_ns(latest_ns, recurrence) <= now_ns ? now_ns : latest_ns.subtractingSaturating(1)
    }
}
#endif

// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// The dates of a calendar in their order, in nanoseconds of a clock.
package protocol DateSequence: Sendable {
    /// Returns the first date after `instant_ns`; `Int64.max` if there is none.
    mutating func first(after instant_ns: Int64) -> Int64
}

/// How far a timer has come on dates: its next date, and the dates that no call has reported yet. For dates it is what
/// `Recurrence` and `GridPosition` together are for equal intervals, with the same policies.
///
/// A calendar takes some microseconds to compute a date. So the timer's own handler asks for the dates, with no lock of the
/// core held, and asks for the one after the next as soon as a call is over: a call that is in time computes nothing
/// beforehand.
package struct DatePosition: Sendable {
    /// The next date, or the instant to which somebody moved the call; `Int64.max` for none.
    package private(set) var deadline_ns: Int64
    /// Dates without a call since the last call, for the next one to report.
    package internal(set) var unreported = 0
    /// The first date after the deadline; nil if nobody has asked for it yet.
    private var following_ns: Int64?
    /// The dates that calls were for, in ranges that leave out none; the last call's range is the last one.
    private var called: [ClosedRange<Int64>] = []
    /// The first date after the last one that a call was for; nil if nobody has asked for it.
    private var successor_ns: Int64?
    /// Whether the next call is for an instant to which somebody moved it, and not for a date.
    private var isMoved = false
    private var dates: any DateSequence
    private let policy: MissedTickPolicy

    /// The greatest number of missed dates that is counted: counting takes as long as asking for each of them.
    package static var longestCount: Int { 1000 }

    /// A date that is further ahead after the clock was set back counts as one that no call was for: that call was made by a
    /// clock that was wrong.
    package static var longestMemory_ns: Int64 { 7 * 86_400_000_000_000 }

    /// Starts at the first date after `instant_ns`.
    package init(_ dates: any DateSequence, after instant_ns: Int64, _ policy: MissedTickPolicy) {
        self.dates = dates
        self.policy = policy
        deadline_ns = self.dates.first(after: instant_ns)
    }

    /// Notes that the call comes for another deadline than the position's, since somebody moved it. The dates after that
    /// deadline follow; no call reports the dates that were passed over.
    package mutating func move(to moved_ns: Int64) {
        isMoved = moved_ns != deadline_ns
        if !isMoved { return }
        unreported = 0
        // If the call was moved earlier, the former date is still to come.
        following_ns = moved_ns < deadline_ns ? deadline_ns : nil
        deadline_ns = moved_ns
    }

    /// Decides about the deadline, which has come, as `Recurrence.begin` does. Returns how many dates the call is to report
    /// beside its own, or nil if the policy leaves the call out.
    package mutating func begin(now_ns: Int64) -> Int? {
        // Noted first, since passing the date joins the ranges of calls; taken back for a date that has no call.
        let (policy, former) = (policy, (called, successor_ns))
        noteCall(deadline_ns)
        let reported = policy.begin(&self, now_ns: now_ns)
        if reported == nil { (called, successor_ns) = former }
        return reported
    }

    /// Decides about the next date when the handler has returned, as `Recurrence.end` does.
    package mutating func end(now_ns: Int64) {
        let policy = policy
        policy.end(&self, now_ns: now_ns)
        _ = following()
    }

    /// Continues after the clock was set back to `now_ns`: with the first date from there on that no call was for. Dates that a
    /// call only counted as missed come after all. Returns false if the next date stays. Not while a call is under way.
    package mutating func setClockBack(to now_ns: Int64) -> Bool {
        let memory_ns = now_ns.addingSaturating(Self.longestMemory_ns)
        called = called.compactMap { range in
            range.lowerBound > memory_ns ? nil : range.lowerBound...min(range.upperBound, memory_ns)
        }
        let next_ns = first(after: now_ns)
        guard next_ns < deadline_ns else { return false }
        unreported = 0
        advance(to: next_ns)
        return true
    }

    private mutating func noteCall(_ date_ns: Int64) {
        if isMoved { return }
        if let last = called.last, date_ns == successor_ns, last.lowerBound <= date_ns {
            called[called.count - 1] = last.lowerBound...date_ns
        } else {
            called.append(date_ns...date_ns)
        }
        successor_ns = nil
        if called.count <= Self.longestList { return }
        // The oldest two become one, so that dates that were missed between them count as called for.
        let (one, other) = (called.removeFirst(), called.removeFirst())
        called.insert(min(one.lowerBound, other.lowerBound)...max(one.upperBound, other.upperBound), at: 0)
    }

    private static var longestList: Int { 16 }

    /// Returns the first date after `instant_ns` that no call was for.
    private mutating func first(after instant_ns: Int64) -> Int64 {
        var date_ns = dates.first(after: instant_ns)
        while date_ns < .max, let range = called.first(where: { $0.contains(date_ns) }) {
            date_ns = dates.first(after: range.upperBound)
        }
        return date_ns
    }

    private mutating func advance(to date_ns: Int64) {
        deadline_ns = date_ns
        following_ns = nil
    }

    private mutating func following() -> Int64 {
        let date_ns = following_ns ?? first(after: deadline_ns)
        following_ns = date_ns
        if deadline_ns == called.last?.upperBound { successor_ns = date_ns }
        return date_ns
    }
}

extension DatePosition: TickPlace {
    mutating func advance() { advance(to: following()) }

    mutating func pause() { deadline_ns = .max }

    mutating func restart(at now_ns: Int64) { advance(to: first(after: now_ns)) }

    func hasCome(by now_ns: Int64) -> Bool { deadline_ns <= now_ns }

    mutating func pass(_ now_ns: Int64) -> Int {
        var missed = 0
        var next_ns = following()
        while next_ns <= now_ns {
            missed += 1
            next_ns = first(after: missed < Self.longestCount ? next_ns : now_ns)
        }
        advance(to: next_ns)
        return missed
    }
}
#endif

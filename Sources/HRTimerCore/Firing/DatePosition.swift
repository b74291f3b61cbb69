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
    package private(set) var unreported = 0
    /// The first date after the deadline; nil if nobody has asked for it yet.
    private var following_ns: Int64?
    private var dates: any DateSequence
    private let policy: MissedTickPolicy

    /// The greatest number of missed dates that is counted: counting takes as long as asking for each of them.
    package static var longestCount: Int { 1000 }

    /// Starts at the first date after `instant_ns`.
    package init(_ dates: any DateSequence, after instant_ns: Int64, _ policy: MissedTickPolicy) {
        self.dates = dates
        self.policy = policy
        deadline_ns = self.dates.first(after: instant_ns)
    }

    /// Notes that the call comes for another deadline than the position's, since somebody moved it. The dates after that
    /// deadline follow; no call reports the dates that were passed over.
    package mutating func move(to moved_ns: Int64) {
        if moved_ns == deadline_ns { return }
        unreported = 0
        // If the call was moved earlier, the former date is still to come.
        following_ns = moved_ns < deadline_ns ? deadline_ns : nil
        deadline_ns = moved_ns
    }

    /// Decides about the deadline, which has come, as `Recurrence.begin` does. Returns how many dates the call is to report
    /// beside its own, or nil if the policy leaves the call out.
    package mutating func begin(now_ns: Int64) -> Int? {
        let reported = unreported
        unreported = 0
        switch policy {
        case .delay:
            deadline_ns = .max
            return reported
        case .burst:
            advance(to: following())
            return reported
        case .merge, .mergeToGrid:
            return reported + pass(now_ns)
        case .skip:
            let missed = pass(now_ns)
            if missed == 0 { return reported }
            unreported = reported + missed + 1
            return nil
        }
    }

    /// Decides about the next date when the handler has returned, as `Recurrence.end` does.
    package mutating func end(now_ns: Int64) {
        switch policy {
        case .delay:
            advance(to: dates.first(after: now_ns))
        case .mergeToGrid where deadline_ns <= now_ns:
            unreported += pass(now_ns) + 1
        case .merge, .mergeToGrid, .burst, .skip:
            break
        }
        _ = following()
    }

    private mutating func advance(to date_ns: Int64) {
        deadline_ns = date_ns
        following_ns = nil
    }

    private mutating func following() -> Int64 {
        if let following_ns { return following_ns }
        let date_ns = dates.first(after: deadline_ns)
        following_ns = date_ns
        return date_ns
    }

    /// Moves to the first date after `now_ns`. Returns how many dates lie between that and the former deadline.
    private mutating func pass(_ now_ns: Int64) -> Int {
        var missed = 0
        var next_ns = following()
        while next_ns <= now_ns {
            missed += 1
            next_ns = dates.first(after: missed < Self.longestCount ? next_ns : now_ns)
        }
        advance(to: next_ns)
        return missed
    }
}
#endif

#if os(Linux)
/// Dates in their order, in nanoseconds of a clock: those of a calendar.
package protocol DateSequence: Sendable {
    /// The first date after `instant_ns`; `Int64.max` if there is none.
    mutating func first(after instant_ns: Int64) -> Int64
}

/// How far a timer has come on dates: its next one, and those that no call has reported yet. What `Recurrence` and
/// `GridPosition` are together for equal intervals, by the same policies.
///
/// A calendar takes some microseconds to say a date. So the dates are asked for by the timer's own handler, with no lock of the
/// core held, and the one after the next as soon as a call is over: a call that is in time computes nothing before.
package struct DatePosition: Sendable {
    /// The next date, or where somebody moved the call to; `Int64.max` for none.
    package private(set) var deadline_ns: Int64
    /// Dates without a call since the last call, for the next one to report.
    package private(set) var unreported = 0
    /// The first date after the deadline; nil if nobody has asked for it yet.
    private var following_ns: Int64?
    private var dates: any DateSequence
    private let policy: MissedTickPolicy

    /// More are not counted: it takes as long as asking for each.
    package static var longestCount: Int { 1000 }

    /// At the first date after `instant_ns`.
    package init(_ dates: any DateSequence, after instant_ns: Int64, _ policy: MissedTickPolicy) {
        self.dates = dates
        self.policy = policy
        deadline_ns = self.dates.first(after: instant_ns)
    }

    /// The call comes for another deadline than the position has, since somebody moved it: the dates after that one follow. Of
    /// those that were passed over no call reports anything.
    package mutating func move(to moved_ns: Int64) {
        if moved_ns == deadline_ns { return }
        unreported = 0
        // A date that has not come is still to come.
        following_ns = moved_ns < deadline_ns ? deadline_ns : nil
        deadline_ns = moved_ns
    }

    /// Decides about the deadline, which has come, as `Recurrence.begin` does: how many dates the call is to report beside its
    /// own, or nil if the policy leaves it out.
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

    /// To the first date after `now_ns`. Gives how many lie between it and the former one.
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

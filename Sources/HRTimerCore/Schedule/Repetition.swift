/// How often a timer fires: once, or at an interval with a policy for missed ticks.
///
/// The one place that decides a repeating timer's next deadline, at the begin and at the end of a call, for engine, loop and
/// source alike. Pure: it is told the time, and O(1) however many ticks were missed.
///
/// Usable from inline code: it is made at each scheduling, from another module.
@usableFromInline package struct Repetition: Sendable, Equatable {
    /// 0 for a timer that fires once.
    @usableFromInline package let interval_ns: Int64
    @usableFromInline package let policy: MissedTickPolicy

    @inlinable package static var once: Repetition { Repetition(interval_ns: 0, policy: .merge) }

    /// What an interval of zero or less becomes, as on Darwin: often, but not so often that a core is burnt.
    @inlinable package static var intervalForNonpositive_ns: Int64 { 100_000 }

    @inlinable init(interval_ns: Int64, policy: MissedTickPolicy) {
        self.interval_ns = interval_ns
        self.policy = policy
    }

    @inlinable package init(every interval: Duration?, policy: MissedTickPolicy) {
        guard let interval else {
            // The policy counts if an interval is set later.
            self.init(interval_ns: 0, policy: policy)
            return
        }
        let interval_ns = interval.nanosecondsRoundedUp
        self.init(interval_ns: interval_ns > 0 ? interval_ns : Self.intervalForNonpositive_ns, policy: policy)
    }

    @inlinable package var repeats: Bool { interval_ns != 0 }

    /// The same interval with another policy.
    package func with(_ policy: MissedTickPolicy) -> Repetition {
        Repetition(interval_ns: interval_ns, policy: policy)
    }

    /// A tolerance as it counts: not negative, and at most half the interval, so that no tick comes as late as the next.
    package func tolerance_ns(asked asked_ns: Int64) -> Int64 {
        min(max(0, asked_ns), repeats ? interval_ns / 2 : .max)
    }
}

/// How far a timer has come on its grid: its next nominal deadline, and the ticks that no call has told yet.
package struct TickCount: Sendable, Equatable {
    /// `Int64.max` while there is none: fired once, or a fixed delay that begins when the handler returns.
    package var deadline_ns: Int64
    /// Ticks without a call since the last call, to be told by the next.
    package var untold: Int

    package init(deadline_ns: Int64, untold: Int = 0) {
        self.deadline_ns = deadline_ns
        self.untold = untold
    }
}

extension Repetition {
    /// Decides about the deadline of `ticks`, which has come: `deadline_ns <= now_ns`, the instant of the call.
    ///
    /// Gives how many ticks the call is to tell beside its own, or nil if the policy leaves this one out. Afterwards `ticks`
    /// has the deadline that follows, as it holds unless `end` says otherwise.
    package func begin(_ ticks: inout TickCount, now_ns: Int64) -> Int? {
        let told = ticks.untold
        ticks.untold = 0
        guard repeats else {
            ticks.deadline_ns = .max
            return told
        }
        switch policy {
        case .delay:
            ticks.deadline_ns = .max
            return told
        case .burst:
            ticks.deadline_ns = ticks.deadline_ns.addingSaturating(interval_ns)
            return told
        case .merge, .mergeToGrid:
            return told.addingSaturating(passOver(&ticks, now_ns))
        case .skip:
            let missed = passOver(&ticks, now_ns)
            if missed == 0 { return told }
            ticks.untold = told.addingSaturating(missed).addingSaturating(1)
            return nil
        }
    }

    /// Decides about the next deadline when the handler has returned at `now_ns`.
    package func end(_ ticks: inout TickCount, now_ns: Int64) {
        guard repeats else { return }
        switch policy {
        case .delay:
            ticks.deadline_ns = now_ns.addingSaturating(interval_ns)
        case .mergeToGrid:
            guard ticks.deadline_ns <= now_ns else { return }
            ticks.untold = ticks.untold.addingSaturating(passOver(&ticks, now_ns)).addingSaturating(1)
        case .merge, .burst, .skip:
            break
        }
    }

    /// Puts `ticks` on the first nominal deadline after `now_ns`, and gives how many lie between it and the former one.
    private func passOver(_ ticks: inout TickCount, _ now_ns: Int64) -> Int {
        let (late_ns, overflow) = now_ns.subtractingReportingOverflow(ticks.deadline_ns)
        // A division takes as long as all the rest of a call: mostly there is nothing to divide.
        if !overflow, late_ns < interval_ns {
            ticks.deadline_ns = ticks.deadline_ns.addingSaturating(interval_ns)
            return 0
        }
        // 128 bits: the difference of two instants may not fit 64.
        let late = Int128(now_ns) - Int128(ticks.deadline_ns)
        let missed = late / Int128(interval_ns)
        ticks.deadline_ns = Int64(clamping: Int128(ticks.deadline_ns) + (missed + 1) * Int128(interval_ns))
        return Int(clamping: missed)
    }
}

extension Int {
    fileprivate func addingSaturating(_ other: Int) -> Int { Int(Int64(self).addingSaturating(Int64(other))) }
}

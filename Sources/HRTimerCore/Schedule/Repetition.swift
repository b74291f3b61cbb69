/// How often a timer fires: once, or at an interval with a policy for missed ticks.
///
/// The one place that computes a repeating timer's next deadline. Pure: it is told the time.
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
            self = .once
            return
        }
        let interval_ns = interval.nanosecondsRoundedUp
        self.init(interval_ns: interval_ns > 0 ? interval_ns : Self.intervalForNonpositive_ns, policy: policy)
    }

    @inlinable package var repeats: Bool { interval_ns != 0 }

    /// What to do about a nominal deadline that is due.
    package struct Tick: Equatable {
        /// Whether the handler is called for this deadline.
        package var isCalled: Bool
        /// Nominal deadlines that passed after this one without a call of their own.
        package var missed: Int
        /// The next nominal deadline, or nil for none: fired once, or to be set after the handler (`delay`).
        package var next_ns: Int64?

        package init(isCalled: Bool, missed: Int, next_ns: Int64?) {
            self.isCalled = isCalled
            self.missed = missed
            self.next_ns = next_ns
        }
    }

    /// Decides about `deadline_ns`, which has come: `deadline_ns <= now_ns`. O(1), however many ticks were missed.
    package func tick(deadline_ns: Int64, now_ns: Int64) -> Tick {
        guard repeats else { return Tick(isCalled: true, missed: 0, next_ns: nil) }
        switch policy {
        case .delay:
            return Tick(isCalled: true, missed: 0, next_ns: nil)
        case .burst:
            return Tick(isCalled: true, missed: 0, next_ns: deadline_ns.addingSaturating(interval_ns))
        case .merge:
            let (missed, next_ns) = onGrid(after: deadline_ns, now_ns: now_ns)
            return Tick(isCalled: true, missed: missed, next_ns: next_ns)
        case .skip:
            let (missed, next_ns) = onGrid(after: deadline_ns, now_ns: now_ns)
            return Tick(isCalled: missed == 0, missed: missed == 0 ? 0 : missed + 1, next_ns: next_ns)
        }
    }

    /// The first nominal deadline after `now_ns`, and how many lie between it and `deadline_ns`.
    package func onGrid(after deadline_ns: Int64, now_ns: Int64) -> (missed: Int, next_ns: Int64) {
        // 128 bits: the difference of two instants may not fit 64.
        let late = max(0, Int128(now_ns) - Int128(deadline_ns))
        let missed = late / Int128(interval_ns)
        let next = Int128(deadline_ns) + (missed + 1) * Int128(interval_ns)
        return (Int(clamping: missed), Int64(clamping: next))
    }
}

/// How often a timer fires: once, or at an interval with a policy for missed ticks.
///
/// The one place that decides a repeating timer's next deadline, at the begin and at the end of a call, for engine, loop and
/// source alike. Pure: it is told the time, and O(1) however many ticks were missed.
///
/// An interval need be no whole number of nanoseconds: a 48th of a second is exact at each tick of a day. Nominal deadlines are
/// kept in attoseconds, as `Duration` is, and each is rounded up to a nanosecond by itself.
///
/// Usable from inline code: it is made at each scheduling, from another module.
@usableFromInline package struct Repetition: Sendable, Equatable {
    /// The interval's whole nanoseconds; 0 for a timer that fires once.
    @usableFromInline package let interval_ns: Int64
    /// What the interval has beside them, less than a nanosecond.
    @usableFromInline package let interval_as: UInt32
    @usableFromInline package let policy: MissedTickPolicy

    @usableFromInline static var attosecondsPerNanosecond: UInt32 { 1_000_000_000 }

    @inlinable package static var once: Repetition { Repetition(interval_ns: 0, interval_as: 0, policy: .merge) }

    /// What an interval of zero or less becomes, as on Darwin: often, but not so often that a core is burnt.
    @inlinable package static var intervalForNonpositive_ns: Int64 { 100_000 }

    @inlinable init(interval_ns: Int64, interval_as: UInt32, policy: MissedTickPolicy) {
        self.interval_ns = interval_ns
        self.interval_as = interval_as
        self.policy = policy
    }

    @inlinable package init(every interval: Duration?, policy: MissedTickPolicy) {
        guard let interval else {
            // The policy counts if an interval is set later.
            self.init(interval_ns: 0, interval_as: 0, policy: policy)
            return
        }
        let (interval_ns, interval_as) = interval.nanosecondsAndRest
        if interval_ns > 0 {
            self.init(interval_ns: interval_ns, interval_as: interval_as, policy: policy)
        } else {
            // Shorter than a nanosecond is one.
            let isPositive = interval_ns == 0 && interval_as > 0
            self.init(interval_ns: isPositive ? 1 : Self.intervalForNonpositive_ns, interval_as: 0, policy: policy)
        }
    }

    @inlinable package var repeats: Bool { interval_ns != 0 }

    /// The interval, zero for a timer that fires once.
    package var interval: Duration { Duration(attoseconds: interval_inAttoseconds) }

    private var interval_inAttoseconds: Int128 {
        Int128(interval_ns) * Int128(Self.attosecondsPerNanosecond) + Int128(interval_as)
    }

    /// The same interval with another policy.
    package func with(_ policy: MissedTickPolicy) -> Repetition {
        Repetition(interval_ns: interval_ns, interval_as: interval_as, policy: policy)
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
    /// By how much the exact nominal deadline is before `deadline_ns`, which is rounded up: less than a nanosecond.
    package var roundedUp_as: UInt32

    package init(deadline_ns: Int64, roundedUp_as: UInt32 = 0, untold: Int = 0) {
        self.deadline_ns = deadline_ns
        self.roundedUp_as = roundedUp_as
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
            advance(&ticks)
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
            ticks.deadline_ns = now_ns
            ticks.roundedUp_as = 0
            advance(&ticks)
        case .mergeToGrid:
            guard ticks.deadline_ns <= now_ns else { return }
            ticks.untold = ticks.untold.addingSaturating(passOver(&ticks, now_ns)).addingSaturating(1)
        case .merge, .burst, .skip:
            break
        }
    }

    /// Puts `ticks` on the nominal deadline that follows.
    @inline(__always)
    package func advance(_ ticks: inout TickCount) {
        ticks.deadline_ns = ticks.deadline_ns.addingSaturating(interval_ns)
        if interval_as == 0 { return }
        if interval_as > ticks.roundedUp_as {
            ticks.deadline_ns = ticks.deadline_ns.addingSaturating(1)
            ticks.roundedUp_as += Self.attosecondsPerNanosecond
        }
        ticks.roundedUp_as -= interval_as
    }

    /// The same for the nominal deadline `count` intervals later; saturates at the end of time.
    package func advance(_ ticks: inout TickCount, by count: Int128) {
        let unit = Int128(Self.attosecondsPerNanosecond)
        let exact = Int128(ticks.deadline_ns) * unit - Int128(ticks.roundedUp_as) + count * interval_inAttoseconds
        let (whole, rest) = exact.quotientAndRemainder(dividingBy: unit)
        // Division truncates toward zero: up for negative values, down for positive ones.
        let roundedUp = rest > 0 ? whole + 1 : whole
        ticks.deadline_ns = Int64(clamping: roundedUp)
        ticks.roundedUp_as = UInt32(roundedUp * unit - exact)
    }

    /// How many intervals lie between the nominal deadline of `ticks` and an instant that is not earlier.
    package func count(from ticks: TickCount, to instant_ns: Int64) -> Int128 {
        // 128 bits: the difference of two instants may not fit 64.
        let whole = Int128(instant_ns) - Int128(ticks.deadline_ns)
        let exact = whole * Int128(Self.attosecondsPerNanosecond) + Int128(ticks.roundedUp_as)
        return exact / interval_inAttoseconds
    }

    /// Puts `ticks` on the first nominal deadline after `now_ns`, and gives how many lie between it and the former one.
    private func passOver(_ ticks: inout TickCount, _ now_ns: Int64) -> Int {
        let (late_ns, overflow) = now_ns.subtractingReportingOverflow(ticks.deadline_ns)
        // A division takes as long as all the rest of a call: mostly there is nothing to divide.
        if !overflow, late_ns < interval_ns {
            advance(&ticks)
            return 0
        }
        let missed = count(from: ticks, to: now_ns)
        advance(&ticks, by: missed + 1)
        return Int(clamping: missed)
    }
}

extension Int {
    fileprivate func addingSaturating(_ other: Int) -> Int { Int(Int64(self).addingSaturating(Int64(other))) }
}

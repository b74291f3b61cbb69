// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// Nominal instants at equal intervals, each with a number: the deadlines of a repeating timer, the ticks of a sequence, the
/// refreshes of a display.
///
/// Instants are kept in attoseconds, like a `Duration`, and each is rounded up to a nanosecond separately, so that nothing
/// comes early and nothing drifts. An interval need not be a whole number of nanoseconds: a 48th of a second is exact at each
/// tick of a day.
package struct Grid: Sendable, Hashable {
    /// One instant of the grid. The others are counted from it.
    package let anchor: ExactInstant
    /// The anchor's number.
    package let number: Int64
    package let interval: ExactInterval

    /// The interval must be longer than zero.
    package init(anchor: ExactInstant, number: Int64 = 0, interval: ExactInterval) {
        self.anchor = anchor
        self.number = number
        self.interval = interval
    }

    /// Returns the instant with that number. Saturates at both ends of time.
    package func instant(_ number: Int64) -> ExactInstant {
        var instant = anchor
        instant.advance(by: interval, times: Int128(number) - Int128(self.number))
        return instant
    }

    /// Returns the instant with that number, rounded up to a nanosecond.
    package func instant_ns(_ number: Int64) -> Int64 { instant(number).rounded_ns }

    /// Returns the number of the latest instant at or before `now_ns`. Saturates.
    package func number(at now_ns: Int64) -> Int64 {
        Int64(clamping: Int128(number) + anchor.count(of: interval, to: now_ns))
    }

    /// Returns the same instants, counted from the first one after `now_ns`, or from the anchor if that has not come.
    package func advanced(past now_ns: Int64) -> Grid {
        if anchor.rounded_ns > now_ns { return self }
        let next = number(at: now_ns).addingSaturating(1)
        return Grid(anchor: instant(next), number: next, interval: interval)
    }
}

/// A length of time exact to an attosecond, like `Duration`, but kept as whole nanoseconds and a rest, so that adding it to an
/// instant takes no division.
package struct ExactInterval: Sendable, Hashable {
    package let whole_ns: Int64
    /// The attoseconds beyond the whole nanoseconds: less than a nanosecond.
    package let rest_as: UInt32

    static var attosecondsPerNanosecond: UInt32 { 1_000_000_000 }

    package init(whole_ns: Int64, rest_as: UInt32 = 0) {
        self.whole_ns = whole_ns
        self.rest_as = rest_as
    }

    /// Converts a duration. Saturates at 292 years.
    package init(_ duration: Duration) {
        let (whole_ns, rest_as) = duration.nanosecondsAndRest
        self.init(whole_ns: whole_ns, rest_as: rest_as)
    }

    /// Converts a number of nanoseconds with a fraction, for example a measured period. At least one nanosecond, at most 2^62.
    package init(nanoseconds: Double) {
        let bounded = max(1, min(nanoseconds, 0x1p62))
        let whole = bounded.rounded(.down)
        self.init(whole_ns: Int64(whole), rest_as: UInt32((bounded - whole) * Double(Self.attosecondsPerNanosecond)))
    }

    package var duration: Duration { Duration(attoseconds: attoseconds) }

    var attoseconds: Int128 { Int128(whole_ns) * Int128(Self.attosecondsPerNanosecond) + Int128(rest_as) }

    /// The length in nanoseconds, for uses that need not be exact.
    package var nanoseconds: Double { Double(whole_ns) + Double(rest_as) / Double(Self.attosecondsPerNanosecond) }

    /// The nearest number of whole nanoseconds, for display.
    package var nearest_ns: Int64 {
        whole_ns.addingSaturating(rest_as >= Self.attosecondsPerNanosecond / 2 ? 1 : 0)
    }
}

/// An instant exact to an attosecond, rounded up to the nanosecond at which something may happen.
package struct ExactInstant: Sendable, Hashable {
    package var rounded_ns: Int64
    /// How much earlier than `rounded_ns` the exact instant is: less than a nanosecond.
    package var roundedUp_as: UInt32

    package init(_ rounded_ns: Int64, roundedUp_as: UInt32 = 0) {
        self.rounded_ns = rounded_ns
        self.roundedUp_as = roundedUp_as
    }

    /// Advances by one interval. Saturates at the end of time. Takes 64 bits and no division, since each fire of a repeating
    /// timer does it.
    package mutating func advance(by interval: ExactInterval) {
        rounded_ns = rounded_ns.addingSaturating(interval.whole_ns)
        if interval.rest_as == 0 { return }
        if interval.rest_as > roundedUp_as {
            rounded_ns = rounded_ns.addingSaturating(1)
            roundedUp_as += ExactInterval.attosecondsPerNanosecond
        }
        roundedUp_as -= interval.rest_as
    }

    /// Advances by any number of intervals, backwards if it is negative. Saturates at both ends of time.
    package mutating func advance(by interval: ExactInterval, times count: Int128) {
        let unit = Int128(ExactInterval.attosecondsPerNanosecond)
        let (distance_as, overflow) = count.multipliedReportingOverflow(by: interval.attoseconds)
        // All of time is shorter than 2^94 attoseconds.
        guard !overflow, distance_as.magnitude < 1 << 100 else {
            self = ExactInstant(count < 0 ? .min : .max)
            return
        }
        let exact = Int128(rounded_ns) * unit - Int128(roundedUp_as) + distance_as
        let (whole, rest) = exact.quotientAndRemainder(dividingBy: unit)
        // Division truncates toward zero: up for negative values, down for positive ones.
        let roundedUp = rest > 0 ? whole + 1 : whole
        rounded_ns = Int64(clamping: roundedUp)
        roundedUp_as = UInt32(roundedUp * unit - exact)
    }

    /// Returns how many intervals after this instant the latest instant at or before `instant_ns` is, both as rounded up.
    /// Negative if this instant is after `instant_ns`.
    package func count(of interval: ExactInterval, to instant_ns: Int64) -> Int128 {
        // 128 bits: the difference of two instants may not fit 64.
        let whole_ns = Int128(instant_ns) - Int128(rounded_ns)
        let exact = whole_ns * Int128(ExactInterval.attosecondsPerNanosecond) + Int128(roundedUp_as)
        let (count, rest) = exact.quotientAndRemainder(dividingBy: interval.attoseconds)
        return rest < 0 ? count - 1 : count
    }
}
#endif

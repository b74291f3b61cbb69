// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// Conversions between `Duration` and whole nanoseconds. They saturate, and round up so that a deadline computed from a
/// duration is never earlier than the duration requested.
extension Duration {
    /// The least whole number of nanoseconds that is not shorter than this duration; saturates at the bounds of `Int64`
    /// (292 years).
    package var nanosecondsRoundedUp: Int64 {
        // Up to 18 s, 64 bits suffice: dividing 128 bits, as `components` does, would cost more than arming a timer.
        let attosecondsPerNanosecond: Int64 = 1_000_000_000
        if let small = UInt64(exactly: self.attoseconds) {
            let (whole, rest) = small.quotientAndRemainder(dividingBy: UInt64(attosecondsPerNanosecond))
            return Int64(whole) + (rest > 0 ? 1 : 0)
        }
        // Not by `components`, which traps if the seconds do not fit Int64. Division truncates toward zero: it rounds
        // negative values up and positive ones down.
        let (whole, rest) = self.attoseconds.quotientAndRemainder(dividingBy: Int128(attosecondsPerNanosecond))
        return Int64(clamping: rest > 0 ? whole + 1 : whole)
    }

    /// The whole nanoseconds, rounded down, and the rest in attoseconds; saturates as `nanosecondsRoundedUp` does.
    @usableFromInline
    package var nanosecondsAndRest: (nanoseconds: Int64, attoseconds: UInt32) {
        let attosecondsPerNanosecond: UInt64 = 1_000_000_000
        if let small = UInt64(exactly: self.attoseconds) {
            let (whole, rest) = small.quotientAndRemainder(dividingBy: attosecondsPerNanosecond)
            return (Int64(whole), UInt32(rest))
        }
        let (whole, rest) = self.attoseconds.quotientAndRemainder(dividingBy: Int128(attosecondsPerNanosecond))
        let isRoundedUp = rest < 0
        guard let nanoseconds = Int64(exactly: isRoundedUp ? whole - 1 : whole) else {
            return (whole < 0 ? .min : .max, 0)
        }
        return (nanoseconds, UInt32(isRoundedUp ? rest + Int128(attosecondsPerNanosecond) : rest))
    }

    /// Creates the duration of a number of seconds, as exact as the number; nil for NaN. Infinities and values beyond 292
    /// years saturate.
    ///
    /// The number is converted to nanoseconds with a fraction: 0.1, which as a `Double` is a little more than a tenth,
    /// gives 100 ms, and `1.0 / 48` gives the interval of 48 Hz.
    package init?(exactSeconds seconds: Double) {
        if seconds.isNaN { return nil }
        let nanoseconds = seconds * 1e9
        let whole = nanoseconds.rounded(.down)
        guard let whole_ns = Int64(exactly: whole), whole_ns > .min, whole_ns < .max else {
            self = .nanoseconds(nanoseconds < 0 ? Int64.min : .max)
            return
        }
        let fraction = nanoseconds - whole
        // Rounded down so that, for example, 48 intervals of `1.0 / 48` are not longer than a second.
        let rest = fraction > 0 ? max(1, Int128(fraction * 1e9)) : 0
        self.init(attoseconds: Int128(whole_ns) * 1_000_000_000 + rest)
    }

    /// Creates the duration of a number of seconds; nil for NaN. Infinities and values beyond 292 years saturate.
    ///
    /// Rounds up to the next nanosecond. A `Double` of seconds is not exact: 0.1 is a little more than a tenth.
    package init?(roundingUpSeconds seconds: Double) {
        if seconds.isNaN { return nil }
        let nanoseconds = (seconds * 1e9).rounded(.up)
        self = .nanoseconds(Int64(exactly: nanoseconds) ?? (nanoseconds < 0 ? .min : .max))
    }
}

extension Int64 {
    package func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    package func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
#endif

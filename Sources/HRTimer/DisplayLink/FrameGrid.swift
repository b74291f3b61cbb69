/// The instants of a display's refreshes: anchor + n × period, where the period is a fraction.
///
/// Every point is computed from its number in 128 bits. Adding up a period rounded to nanoseconds would lose 1.7 ms a day
/// at 59.94 Hz.
struct FrameGrid: Sendable, Hashable {
    let anchor_ns: Int64
    /// Which refresh the anchor is.
    let first: Int64
    /// The period is `step_ns / parts` nanoseconds.
    let step_ns: Int64
    let parts: Int64

    /// Of a display that refreshes `rate.numerator / rate.denominator` times a second.
    init(anchor_ns: Int64, first: Int64 = 0, rate: FrameRate) {
        self.anchor_ns = anchor_ns
        self.first = first
        step_ns = rate.denominator * 1_000_000_000
        parts = rate.numerator
    }

    /// Of a period that was measured, to 2^-20 ns; brought into 1 ns ... 1000 s.
    init(anchor_ns: Int64, first: Int64 = 0, period_ns: Double) {
        self.anchor_ns = anchor_ns
        self.first = first
        parts = 1 << 20
        step_ns = Int64((min(max(period_ns, 1), 1e12) * Double(1 << 20)).rounded())
    }

    private init(anchor_ns: Int64, first: Int64, step_ns: Int64, parts: Int64) {
        self.anchor_ns = anchor_ns
        self.first = first
        self.step_ns = step_ns
        self.parts = parts
    }

    /// The same period from another anchor on.
    func anchored(at anchor_ns: Int64, _ first: Int64) -> FrameGrid {
        FrameGrid(anchor_ns: anchor_ns, first: first, step_ns: step_ns, parts: parts)
    }

    /// As a number, for what need not be exact.
    var period_ns: Double { Double(step_ns) / Double(parts) }

    /// What the rate is exactly, if it was given as one.
    var framesPerSecond: Double { Double(parts) / (Double(step_ns) / 1e9) }

    /// The time from one refresh to the next, rounded to the nearest nanosecond.
    var interval_ns: Int64 { anchored(at: 0, 0).instant_ns(1) }

    /// The instant of refresh `number`, rounded to the nearest nanosecond; saturates.
    func instant_ns(_ number: Int64) -> Int64 {
        let parts = Int128(parts)
        let scaled = (Int128(number) - Int128(first)) * Int128(step_ns) + parts / 2
        return Int64(clamping: Int128(anchor_ns) + Self.floorDivide(scaled, parts))
    }

    /// The number of the latest refresh at or before `now_ns`.
    func number(at now_ns: Int64) -> Int64 {
        let elapsed = Int128(now_ns) - Int128(anchor_ns)
        let count = Self.floorDivide(elapsed * Int128(parts), Int128(step_ns))
        var number = Int64(clamping: Int128(first) + count)
        // The instants are rounded, so that the quotient may be one off.
        if instant_ns(number) > now_ns { number -= 1 }
        if instant_ns(number.addingSaturating(1)) <= now_ns { number = number.addingSaturating(1) }
        return number
    }

    /// The instant nearest to `instant_ns`.
    func nearest_ns(to instant_ns: Int64) -> Int64 {
        let number = number(at: instant_ns)
        let (before, after) = (self.instant_ns(number), self.instant_ns(number.addingSaturating(1)))
        return instant_ns - before <= after - instant_ns ? before : after
    }

    private static func floorDivide(_ dividend: Int128, _ divisor: Int128) -> Int128 {
        let (quotient, rest) = dividend.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }
}

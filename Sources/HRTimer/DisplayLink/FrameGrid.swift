/// The instants of a display that refreshes `numerator / denominator` times a second: anchor + n × period.
///
/// Every point is computed from its number in 128 bits. Adding up a period rounded to nanoseconds would lose 1.7 ms a day
/// at 59.94 Hz.
struct FrameGrid: Sendable, Hashable {
    let anchor_ns: Int64
    let rate: FrameRate

    /// The instant of refresh `number`, rounded to the nearest nanosecond; saturates.
    func instant_ns(_ number: Int64) -> Int64 {
        let (numerator, denominator) = (Int128(rate.numerator), Int128(rate.denominator))
        let scaled = Int128(number) * denominator * 1_000_000_000 + numerator / 2
        return Int64(clamping: Int128(anchor_ns) + Self.floorDivide(scaled, numerator))
    }

    /// The number of the latest refresh at or before `now_ns`.
    func number(at now_ns: Int64) -> Int64 {
        let elapsed = Int128(now_ns) - Int128(anchor_ns)
        let (numerator, denominator) = (Int128(rate.numerator), Int128(rate.denominator))
        var number = Int64(clamping: Self.floorDivide(elapsed * numerator, denominator * 1_000_000_000))
        // The instants are rounded, so that the quotient may be one off.
        if instant_ns(number) > now_ns { number -= 1 }
        if instant_ns(number.addingSaturating(1)) <= now_ns { number = number.addingSaturating(1) }
        return number
    }

    /// The number of the first refresh after `now_ns` that `divisor` divides.
    func next(after now_ns: Int64, divisor: Int64) -> Int64 {
        let first = number(at: now_ns).addingSaturating(1)
        let rest = first % divisor
        return rest == 0 ? first : first.addingSaturating(rest > 0 ? divisor - rest : -rest)
    }

    private static func floorDivide(_ dividend: Int128, _ divisor: Int128) -> Int128 {
        let (quotient, rest) = dividend.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }
}

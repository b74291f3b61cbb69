// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// The grid of a display's refreshes, together with their rate as a number. A rate that was given is kept exactly.
struct FrameGrid: Sendable, Hashable {
    /// The grid in whole attoseconds. For a rate such as 119.881 Hz its interval is too short by a part of an attosecond.
    let grid: Grid
    let framesPerSecond: Double
    /// That part, as a fraction of an attosecond.
    private let rest: Fraction

    private struct Fraction: Sendable, Hashable {
        var numerator: Int64 = 0
        var denominator: Int64 = 1
    }

    private init(_ grid: Grid, _ framesPerSecond: Double, _ rest: Fraction = Fraction()) {
        self.grid = grid
        self.framesPerSecond = framesPerSecond
        self.rest = rest
    }

    /// Creates the grid of a display that refreshes `rate.numerator / rate.denominator` times a second.
    init(anchor_ns: Int64, rate: FrameRate) {
        self.init(
            Grid(anchor: ExactInstant(anchor_ns), interval: ExactInterval(rate.interval)),
            rate.framesPerSecond,
            Fraction(
                numerator: Int64(Int128(rate.denominator) * 1_000_000_000_000_000_000 % Int128(rate.numerator)),
                denominator: rate.numerator
            )
        )
    }

    /// Creates the grid of a measured period, which is limited to 1 ns ... 1000 s.
    init(anchor_ns: Int64, first: Int64 = 0, period_ns: Double) {
        let interval = ExactInterval(nanoseconds: min(period_ns, 1e12))
        self.init(Grid(anchor: ExactInstant(anchor_ns), number: first, interval: interval), 1e9 / interval.nanoseconds)
    }

    /// Returns a grid with the same period, where refresh `number` comes at `anchor`.
    func anchored(at anchor: ExactInstant, _ number: Int64) -> FrameGrid {
        FrameGrid(Grid(anchor: anchor, number: number, interval: grid.interval), framesPerSecond, rest)
    }

    /// The period in nanoseconds, where it need not be exact.
    var period_ns: Double { grid.interval.nanoseconds }

    /// The time from one refresh to the next, rounded to the nearest nanosecond.
    var interval_ns: Int64 { grid.interval.nearest_ns }

    /// Whether both have the same interval.
    func hasInterval(of other: FrameGrid) -> Bool { grid.interval == other.grid.interval && rest == other.rest }

    /// Returns the instant of refresh `number`, rounded up to an attosecond; saturates.
    func instant(_ number: Int64) -> ExactInstant {
        var instant = grid.instant(number)
        if rest.numerator == 0 { return instant }
        let rests = (Int128(number) - Int128(grid.number)) * Int128(rest.numerator)
        let (whole, part) = rests.quotientAndRemainder(dividingBy: Int128(rest.denominator))
        instant.advance(by: ExactInterval(whole_ns: 0, rest_as: 1), times: part > 0 ? whole + 1 : whole)
        return instant
    }

    /// Returns the instant of refresh `number`, rounded up to a nanosecond; saturates.
    func instant_ns(_ number: Int64) -> Int64 { instant(number).rounded_ns }

    /// Returns the number of the latest refresh at or before `now_ns`.
    func number(at now_ns: Int64) -> Int64 {
        var number = grid.number(at: now_ns)
        if rest.numerator == 0 { return number }
        // All the rests in 292 years, at 10 kHz, are a hundredth of an interval.
        if instant_ns(number) > now_ns { number = number.subtractingSaturating(1) }
        let next_ns = instant_ns(number.addingSaturating(1))
        return next_ns <= now_ns && next_ns < .max ? number + 1 : number
    }

    /// Returns the number of the refresh nearest to `instant_ns`; of two equally near ones, the earlier.
    func nearest(to instant_ns: Int64) -> Int64 {
        let number = number(at: instant_ns)
        let next = number.addingSaturating(1)
        return instant_ns - self.instant_ns(number) <= self.instant_ns(next) - instant_ns ? number : next
    }
}
#endif

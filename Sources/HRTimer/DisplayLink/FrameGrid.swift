#if os(Linux)
import HRTimerCore

/// The grid of a display's refreshes, together with their rate as a number. A rate that was given is kept exactly.
struct FrameGrid: Sendable, Hashable {
    let grid: Grid
    let framesPerSecond: Double

    private init(_ grid: Grid, _ framesPerSecond: Double) {
        self.grid = grid
        self.framesPerSecond = framesPerSecond
    }

    /// Creates the grid of a display that refreshes `rate.numerator / rate.denominator` times a second.
    init(anchor_ns: Int64, rate: FrameRate) {
        self.init(
            Grid(anchor: ExactInstant(anchor_ns), interval: ExactInterval(rate.interval)),
            rate.framesPerSecond
        )
    }

    /// Creates the grid of a measured period, which is limited to 1 ns ... 1000 s.
    init(anchor_ns: Int64, first: Int64 = 0, period_ns: Double) {
        let interval = ExactInterval(nanoseconds: min(period_ns, 1e12))
        self.init(Grid(anchor: ExactInstant(anchor_ns), number: first, interval: interval), 1e9 / interval.nanoseconds)
    }

    /// Returns a grid with the same period, where refresh `number` comes at `anchor`.
    func anchored(at anchor: ExactInstant, _ number: Int64) -> FrameGrid {
        FrameGrid(Grid(anchor: anchor, number: number, interval: grid.interval), framesPerSecond)
    }

    /// The period in nanoseconds, where it need not be exact.
    var period_ns: Double { grid.interval.nanoseconds }

    /// The time from one refresh to the next, rounded to the nearest nanosecond.
    var interval_ns: Int64 { grid.interval.nearest_ns }

    /// Returns the instant of refresh `number`, rounded up to a nanosecond; saturates.
    func instant_ns(_ number: Int64) -> Int64 { grid.instant_ns(number) }

    /// Returns the number of the latest refresh at or before `now_ns`.
    func number(at now_ns: Int64) -> Int64 { grid.number(at: now_ns) }

    /// Returns the number of the refresh nearest to `instant_ns`; of two equally near ones, the earlier.
    func nearest(to instant_ns: Int64) -> Int64 {
        let number = number(at: instant_ns)
        let next = number.addingSaturating(1)
        return instant_ns - self.instant_ns(number) <= self.instant_ns(next) - instant_ns ? number : next
    }
}
#endif

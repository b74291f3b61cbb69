// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// The refreshes of one display as its links see them: the number and the instant of each.
///
/// An instant that may have been reported to a link never changes: new knowledge of the display applies from the
/// refresh after the next. So all links agree on every instant, and instants rise strictly.
struct RefreshTimeline: Sendable {
    private struct Segment: Sendable {
        /// The first refresh of the segment; the oldest segment also gives the refreshes before it.
        let from: Int64
        let grid: FrameGrid
    }

    private var latest: Segment
    /// How often future instants were changed.
    private(set) var changes: UInt = 0
    /// Former segments, oldest first. There are enough of them for the refreshes that a late link may ask for, and for a link
    /// with a lead, whose call may come many refreshes before the end of its frame.
    private var older: [Segment] = []
    private static let kept = 64
    /// One refresh may be moved towards its true instant by at most the period divided by this.
    private static let slew = 20.0

    init(_ grid: FrameGrid) {
        latest = Segment(from: .min, grid: grid)
    }

    /// The grid of future refreshes.
    var grid: FrameGrid { latest.grid }

    func instant_ns(_ number: Int64) -> Int64 { grid(of: number).instant_ns(number) }

    /// Returns the instant of a refresh, to an attosecond.
    func instant(_ number: Int64) -> ExactInstant { grid(of: number).instant(number) }

    private func grid(of number: Int64) -> FrameGrid {
        if number >= latest.from { return latest.grid }
        let segment = older.last { number >= $0.from } ?? older.first
        return segment?.grid ?? latest.grid
    }

    /// Returns the latest refresh at or before `now_ns`.
    func number(at now_ns: Int64) -> Int64 {
        if older.isEmpty || latest.grid.instant_ns(latest.from) <= now_ns { return latest.grid.number(at: now_ns) }
        var end = latest.from
        for (place, segment) in older.enumerated().reversed() {
            if place == 0 || segment.grid.instant_ns(segment.from) <= now_ns {
                return min(segment.grid.number(at: now_ns), end - 1)
            }
            end = segment.from
        }
        return end - 1
    }

    /// Returns the first refresh after `now_ns` whose number is a multiple of `divisor`.
    func next(after now_ns: Int64, divisor: Int64) -> Int64 {
        let first = number(at: now_ns).addingSaturating(1)
        let rest = first % divisor
        return rest == 0 ? first : first.addingSaturating(rest > 0 ? divisor - rest : -rest)
    }

    /// Adopts the period of `model` at once, and moves towards its phase by at most a twentieth of a period each
    /// refresh.
    mutating func follow(_ model: FrameGrid, now_ns: Int64) {
        let next = number(at: now_ns).addingSaturating(1)
        var aimed = instant(next)
        aimed.advance(by: model.grid.interval)
        let nearest = model.instant(model.nearest(to: aimed.rounded_ns))
        let error_ns = Double(nearest.rounded_ns - aimed.rounded_ns)
        let bound_ns = (model.period_ns / Self.slew).rounded(.down)
        let moved =
            abs(error_ns) <= bound_ns
            ? nearest
            : ExactInstant(aimed.rounded_ns.addingSaturating(Int64(error_ns < 0 ? -bound_ns : bound_ns)))
        let isThere = grid.hasInterval(of: model) && grid.instant(next + 1) == moved
        if !isThere { replace(from: next + 1, model.anchored(at: moved, next + 1)) }
    }

    /// Changes the rate. The next refresh comes a whole number of new periods after the latest.
    mutating func setRate(_ rate: FrameRate, now_ns: Int64) {
        setPeriod(of: FrameGrid(anchor_ns: 0, rate: rate), now_ns: now_ns)
    }

    /// Changes the period to that of `grid`, whose phase is ignored; see `setRate(_:now_ns:)`.
    mutating func setPeriod(of grid: FrameGrid, now_ns: Int64) {
        let number = number(at: now_ns)
        replace(from: number + 1, grid.anchored(at: instant(number), number))
    }

    private mutating func replace(from: Int64, _ grid: FrameGrid) {
        changes &+= 1
        if latest.from < from { older.append(latest) }
        // Removes segments that never came into effect.
        older.removeAll { $0.from >= from }
        if older.count >= Self.kept { older.removeFirst(older.count - Self.kept + 1) }
        latest = Segment(from: from, grid: grid)
    }
}
#endif

// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// The nominal deadlines of one source as a model has them: counted one by one, in attoseconds.
struct SourceGrid {
    private static let nanosecond: Int128 = 1_000_000_000

    /// Nil if there is none.
    private var next_as: Int128?
    /// Zero for a source that fires once.
    private(set) var interval_as: Int128 = 0
    private var unreported: UInt = 0

    /// There is no deadline.
    init() {}

    init(_ deadline_ns: Int64, every interval: Duration?) {
        if deadline_ns < .max { next_as = Int128(deadline_ns) * Self.nanosecond }
        guard let interval else { return }
        interval_as =
            switch interval.attoseconds {
            case ..<Self.nanosecond: 100_000 * Self.nanosecond
            default: interval.attoseconds
            }
    }

    /// The next deadline, rounded up to a nanosecond.
    var next_ns: Int64? { next_as.map(Self.roundedUp_ns) }

    static func roundedUp_ns(_ attoseconds: Int128) -> Int64 {
        let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: nanosecond)
        return Int64(rest > 0 ? whole + 1 : whole)
    }

    func hasCome(_ now_ns: Int64) -> Bool { next_ns.map { $0 <= now_ns } ?? false }

    /// Passes each deadline that has come. Returns their number.
    private mutating func pass(_ now_ns: Int64) -> UInt {
        var count: UInt = 0
        while let come_as = next_as, hasCome(now_ns) {
            count += 1
            next_as = interval_as > 0 ? come_as + interval_as : nil
        }
        return count
    }

    /// A call may begin, as a deadline has come. What it reports, or nil if there is to be none.
    mutating func begin(_ now_ns: Int64, _ policy: MissedTickPolicy) -> UInt? {
        guard let come_as = next_as else { return nil }
        let following_as = come_as + interval_as
        var ticks = unreported + 1
        unreported = 0
        guard interval_as > 0 else {
            next_as = nil
            return ticks
        }
        switch policy {
        case .burst: next_as = following_as
        case .delay: next_as = nil
        case .merge, .mergeToGrid, .skip:
            next_as = following_as
            ticks += pass(now_ns)
        }
        guard policy == .skip, Self.roundedUp_ns(following_as) <= now_ns else { return ticks }
        unreported = ticks
        return nil
    }

    /// The call has returned.
    mutating func end(_ now_ns: Int64, _ policy: MissedTickPolicy) {
        guard interval_as > 0 else { return }
        switch policy {
        case .mergeToGrid: unreported += pass(now_ns)
        case .delay: next_as = Int128(now_ns) * Self.nanosecond + interval_as
        case .merge, .burst, .skip: break
        }
    }

    /// Nobody is told of what has come.
    mutating func forget(_ now_ns: Int64) {
        if pass(now_ns) > 0 { unreported = 0 }
    }
}

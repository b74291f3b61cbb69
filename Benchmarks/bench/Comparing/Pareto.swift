/// The share of exact fires against their cost: the subjects of one result at one interval, and the curve of a thread with
/// a fixed margin, which sleeps until that time before each deadline and then reads the clock.
struct Pareto: Sendable {
    /// A fire up to this late counts as exact.
    static let exact_ns: Int64 = 1000
    static let fixed = "kernel.hybrid.slack-1."

    struct Point: Sendable, Equatable {
        let id: String
        /// The share of exact fires, 0 to 1.
        let exact: Double
        let cpuPerFire_ns: Double
        let early: Int

        var isFixed: Bool { id.hasPrefix(Pareto.fixed) }
    }

    let interval_ns: Int64
    /// Sorted by cost.
    let points: [Point]
    private let curve: [Point]

    init(_ rows: [ResultRow], interval_ns: Int64) {
        self.interval_ns = interval_ns
        points =
            rows.filter { $0.interval_ns == interval_ns && $0.fires > 0 }
            .compactMap { row in
                row.cpuPerFire_ns.map {
                    Point(
                        id: row.id,
                        exact: row.distribution.share(upTo: Self.exact_ns),
                        cpuPerFire_ns: $0,
                        early: row.early
                    )
                }
            }
            .sorted { $0.cpuPerFire_ns < $1.cpuPerFire_ns }
        // A margin that costs more and gives less than another one is useless.
        curve = points.filter(\.isFixed)
            .reduce(into: []) { if ($0.last?.exact ?? -1) < $1.exact { $0.append($1) } }
    }

    /// Returns one value for each interval, the shortest first.
    static func all(_ rows: [ResultRow]) -> [Pareto] {
        Set(rows.map(\.interval_ns)).sorted().map { Pareto(rows, interval_ns: $0) }
    }

    /// Returns the share that fixed margins give for that cost, interpolated linearly; nil if even the cheapest one costs
    /// more.
    func exact(at cpuPerFire_ns: Double) -> Double? {
        guard let first = curve.first, cpuPerFire_ns >= first.cpuPerFire_ns else { return nil }
        for (low, high) in zip(curve, curve.dropFirst()) where cpuPerFire_ns <= high.cpuPerFire_ns {
            let part = (cpuPerFire_ns - low.cpuPerFire_ns) / (high.cpuPerFire_ns - low.cpuPerFire_ns)
            return low.exact + part * (high.exact - low.exact)
        }
        return curve.last?.exact
    }

    /// Returns the cost of fixed margins for that share, interpolated linearly; nil if none reaches it.
    func cost(at exact: Double) -> Double? {
        if let first = curve.first, exact <= first.exact { return first.cpuPerFire_ns }
        for (low, high) in zip(curve, curve.dropFirst()) where exact <= high.exact {
            let part = (exact - low.exact) / (high.exact - low.exact)
            return low.cpuPerFire_ns + part * (high.cpuPerFire_ns - low.cpuPerFire_ns)
        }
        return nil
    }
}

extension Distribution {
    /// Returns the share of values that are at most `value_ns`; 0 without values.
    func share(upTo value_ns: Int64) -> Double {
        if count == 0 { return 0 }
        return Double(buckets.reduce(0) { $0 + ($1.low_ns <= value_ns ? $1.count : 0) }) / Double(count)
    }
}

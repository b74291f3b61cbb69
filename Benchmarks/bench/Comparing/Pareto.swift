// SPDX-License-Identifier: Apache-2.0
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

// For people and for programs.
extension Pareto {
    /// A point and its letter in the plot.
    private typealias Line = (offset: Int, element: Point)

    var text: String {
        let lines = ["every \(timeText(interval_ns))", ""] + table.lines() + [""] + plot
        return lines.joined(separator: "\n") + "\n"
    }

    var json: JSONValue { ["interval_ns": JSONValue(interval_ns), "points": table.json] }

    /// A subject's share and cost, and what fixed margins have at the same cost and the same share.
    private var table: Table<Line> {
        func unlessFixed(_ line: Line, _ cell: Cell) -> Cell { line.element.isFixed ? Cell("", cell.value) : cell }
        return Table(
            columns: [
                Column("  subject", "id", isLeft: true) {
                    Cell("\(LetterPlot.letter($0.offset)) \($0.element.id)", .string($0.element.id))
                },
                Column("within 1 µs", "within_1us_share") { .share($0.element.exact) },
                Column("CPU a fire", "cpu_ns_per_fire") { .time($0.element.cpuPerFire_ns) },
                Column("of a core") { .share($0.element.cpuPerFire_ns / Double(interval_ns)) },
                Column("fixed margins: share", "fixed_share_at_cost") {
                    unlessFixed($0, .share(exact(at: $0.element.cpuPerFire_ns)))
                },
                Column("cost", "fixed_cost_at_share_ns") { unlessFixed($0, .time(cost(at: $0.element.exact))) },
            ],
            rows: Array(points.enumerated()),
            note: { $0.element.early > 0 ? "\($0.element.early.grouped) early" : "" }
        )
    }

    /// The plot, with the cost to the right and the share upwards.
    private var plot: [String] {
        guard let most_ns = points.map(\.cpuPerFire_ns).max(), most_ns > 0 else { return [] }
        let width = 72
        var plot = LetterPlot(width: width, height: 16)
        for (number, point) in points.enumerated() {
            let column = Int(point.cpuPerFire_ns / most_ns * Double(width - 1))
            plot.put(number, in: column..<column + 1, at: point.exact)
        }
        return plot.lines(marks: [(width - 1, timeText(Int64(most_ns)))], label: percentText)
    }
}

extension Distribution {
    /// Returns the share of values that are at most `value_ns`; 0 without values.
    func share(upTo value_ns: Int64) -> Double {
        if count == 0 { return 0 }
        return Double(buckets.reduce(0) { $0 + ($1.low_ns <= value_ns ? $1.count : 0) }) / Double(count)
    }
}

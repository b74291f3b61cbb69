// SPDX-License-Identifier: Apache-2.0
import Foundation
import Seeded

/// Exactness against its cost: the subjects of one result at one interval, and the regret of each over the best fixed margin, which
/// only hindsight knows.
///
/// A fixed margin is a thread that sleeps until that time before each deadline, spins, and calls its handler. What a subject loses
/// is its processor time a fire, and `worthOfExact_ns` for each fire that is later than the bound.
struct Pareto: Sendable {
    /// A fire up to this late counts as exact.
    static let exact_ns: Int64 = 1000
    /// The bounds of the two regrets.
    static let bounds_ns: [Int64] = [5000, 1000]
    static let worthOfExact_ns = 500_000.0
    /// How the names of fixed margins that call a handler begin.
    static let fixed = "kernel.called.slack-1."

    struct Point: Sendable, Equatable {
        let id: String
        /// The shares of fires within each bound, 0 to 1.
        let shares: [Double]
        let cpuPerFire_ns: Double
        let early: Int
        /// For each bound, what a fire lost in each block; empty in older results.
        var lossesOfBlocks_ns: [[Double]] = [[], []]

        /// The share of exact fires.
        var exact: Double { shares[1] }
        var isFixed: Bool { id.hasPrefix(Pareto.fixed) }

        /// What a fire loses in the mean.
        func loss_ns(_ bound: Int) -> Double { cpuPerFire_ns + Pareto.worthOfExact_ns * (1 - shares[bound]) }
    }

    let interval_ns: Int64
    /// Sorted by cost.
    let points: [Point]
    /// The fixed margins among them.
    let margins: [Point]
    /// The least loss of a fixed margin for each bound; nil without margins.
    private let least_ns: [Double]?

    init(_ rows: [ResultRow], interval_ns: Int64) {
        self.interval_ns = interval_ns
        points =
            rows.filter { $0.interval_ns == interval_ns && $0.fires > 0 }
            .compactMap { row in
                row.cpuPerFire_ns.map { cpu_ns in
                    let shares = Self.bounds_ns.map { row.distribution.share(upTo: $0) }
                    var point = Point(id: row.id, shares: shares, cpuPerFire_ns: cpu_ns, early: row.early)
                    point.lossesOfBlocks_ns = [row.lossesOfBlocks_ns(\.nearlyExact), row.lossesOfBlocks_ns(\.exact)]
                    return point
                }
            }
            .sorted { $0.cpuPerFire_ns < $1.cpuPerFire_ns }
        let points = points
        margins = points.filter(\.isFixed)
        least_ns =
            margins.isEmpty
            ? nil
            : Self.bounds_ns.indices.map { [margins] bound in margins.map { $0.loss_ns(bound) }.min() ?? .infinity }
    }

    /// Returns one value for each interval, the shortest first.
    static func all(_ rows: [ResultRow]) -> [Pareto] {
        Set(rows.map(\.interval_ns)).sorted().map { Pareto(rows, interval_ns: $0) }
    }

    /// Returns a subject's loss over the least one of a fixed margin; nil without margins.
    func regret(_ point: Point, _ bound: Int) -> Double? { least_ns.map { point.loss_ns(bound) / $0[bound] } }

    /// Returns where a subject's regret lies, 19 times of 20: by the bootstrap over blocks, of which the same rounds are drawn for the
    /// subject and for each margin. Nil for fewer than three rounds, or where a block is missing.
    func regretRange(_ point: Point, _ bound: Int) -> ClosedRange<Double>? {
        let own_ns = point.lossesOfBlocks_ns[bound]
        let others_ns = margins.map { $0.lossesOfBlocks_ns[bound] }
        let isComplete = others_ns.allSatisfy { $0.count == own_ns.count }
        guard own_ns.count > 2, !others_ns.isEmpty, isComplete else { return nil }
        var random = SeededRandom(seed: 1)
        let regrets = (0..<Confidence.resamples).map { _ in
            let rounds = own_ns.map { _ in Int.random(in: own_ns.indices, using: &random) }
            func sum(_ losses_ns: [Double]) -> Double { rounds.reduce(0) { $0 + losses_ns[$1] } }
            return sum(own_ns) / (others_ns.map(sum).min() ?? .infinity)
        }
        return Confidence.middle(regrets)
    }
}

extension ResultRow {
    /// Returns what a fire lost in each block, by the number of its fires in time; empty if a block lacks that number.
    fileprivate func lossesOfBlocks_ns(_ inTime: (Block) -> Int?) -> [Double] {
        let losses_ns = blocks.filter { $0.fires > 0 }.map { block -> Double? in
            guard let exact = inTime(block), let cpu_ns = block.cpuPerFire_ns else { return nil }
            return cpu_ns + Pareto.worthOfExact_ns * (1 - Double(exact) / Double(block.fires))
        }
        return losses_ns.contains { $0 == nil } ? [] : losses_ns.compactMap(\.self)
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

    private var table: Table<Line> {
        Table(
            columns: [
                Column("  subject", "id", isLeft: true) {
                    Cell("\(LetterPlot.letter($0.offset)) \($0.element.id)", .string($0.element.id))
                },
                Column("within 1 µs", "within_1us_share") { .share($0.element.exact) },
                Column("within 5 µs", "within_5us_share") { .share($0.element.shares[0]) },
                Column("CPU a fire", "cpu_ns_per_fire") { .time($0.element.cpuPerFire_ns) },
                Column("of a core") { .share($0.element.cpuPerFire_ns / Double(interval_ns)) },
                Column("regret, 5 µs", "regret_5us") { .number(regret($0.element, 0), decimals: 2) },
                Column("19 of 20", "regret_5us_95") { range($0.element, 0) },
                Column("regret, 1 µs", "regret_1us") { .number(regret($0.element, 1), decimals: 2) },
                Column("19 of 20", "regret_1us_95") { range($0.element, 1) },
            ],
            rows: Array(points.enumerated()),
            note: { $0.element.early > 0 ? "\($0.element.early.grouped) early" : "" }
        )
    }

    private func range(_ point: Point, _ bound: Int) -> Cell {
        let range = regretRange(point, bound)
        return Cell(
            range.map { "\($0.lowerBound.formatted(decimals: 2))…\($0.upperBound.formatted(decimals: 2))" },
            range.map { .array([JSONValue($0.lowerBound), JSONValue($0.upperBound)]) } ?? .null
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

/// The regrets of each subject over several results: their geometric mean, and the worst.
struct RegretSummary: Sendable {
    private struct Row: Sendable {
        let id: String
        /// For each bound, the regret in each result.
        let regrets: [[Double]]

        func mean(_ bound: Int) -> Double {
            exp(regrets[bound].map { log($0) }.reduce(0, +) / Double(regrets[bound].count))
        }
        func worst(_ bound: Int) -> Double { regrets[bound].max() ?? 1 }
    }

    private let rows: [Row]

    /// Of the subjects that are in all of them.
    init(_ paretos: [Pareto]) {
        let ids = paretos.first?.points.map(\.id) ?? []
        rows = ids.compactMap { id in
            let found = paretos.compactMap { pareto in pareto.points.first { $0.id == id }.map { (pareto, $0) } }
            guard found.count == paretos.count else { return nil }
            let regrets = Pareto.bounds_ns.indices.map { bound in found.compactMap { $0.0.regret($0.1, bound) } }
            return regrets.allSatisfy { $0.count == paretos.count } ? Row(id: id, regrets: regrets) : nil
        }
        .sorted { $0.mean(0) < $1.mean(0) }
    }

    var text: String { (["regret over all of these", ""] + table.lines()).joined(separator: "\n") + "\n" }

    private var table: Table<Row> {
        Table(
            columns: [
                Column("subject", isLeft: true) { .text($0.id) },
                Column("5 µs: mean") { .number($0.mean(0), decimals: 2) },
                Column("worst") { .number($0.worst(0), decimals: 2) },
                Column("1 µs: mean") { .number($0.mean(1), decimals: 2) },
                Column("worst") { .number($0.worst(1), decimals: 2) },
            ],
            rows: rows
        )
    }
}

extension Distribution {
    /// Returns the share of values that are at most `value_ns`; 0 without values.
    func share(upTo value_ns: Int64) -> Double {
        if count == 0 { return 0 }
        return Double(buckets.reduce(0) { $0 + ($1.low_ns <= value_ns ? $1.count : 0) }) / Double(count)
    }
}

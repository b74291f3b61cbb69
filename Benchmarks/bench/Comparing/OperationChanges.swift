// SPDX-License-Identifier: Apache-2.0
import Foundation

/// One operation of one rival in the results of two builds.
struct OperationChange: Sendable {
    let key: OperationRow.Key
    /// The medians of all results, in ns.
    let before: Double
    let after: Double
    /// The interval of the ratio of after to before, over pairs of results; nil for too few pairs.
    let interval: ConfidenceInterval?
    /// A smaller part means nothing.
    let floor: Double
    /// The allocations of one operation beyond those before.
    let newAllocations: Double
    /// The number of early fires beyond those before.
    let newlyEarly: Int

    var verdict: Verdict {
        if newlyEarly > 0 || newAllocations > Self.leastAllocations { return .slower }
        return Verdict(interval, same: 1 / (1 + floor)...1 + floor)
    }

    /// A few operations of a thousand allocate for all of them.
    private static let leastAllocations = 0.5
}

/// How the operations of `bench ops` changed between two builds, from results that were measured in turn and are paired in
/// their order.
struct OperationChanges: Sendable {
    let rows: [OperationChange]

    /// The least difference that counts, in ns, and as a part of the value before: where the linker puts a loop of twenty
    /// instructions makes as much.
    static let least = (amount_ns: 1.0, part: 0.05)

    init(before: [ResultFile], after: [ResultFile]) throws {
        guard Set((before + after).map(\.build)).count == 1 else {
            throw BenchError("the results are of debug and of release builds: measure both alike")
        }
        let (old, new) = (before.map(\.operationsByKey), after.map(\.operationsByKey))
        let keys = after[0].operations.map(\.key)
        let moves = Dictionary(
            keys.map { ($0, Self.ratios(of: $0, old, new)) },
            uniquingKeysWith: { first, _ in first }
        )
        rows = keys.compactMap { key in
            guard let ratios = moves[key], !ratios.isEmpty else { return nil }
            // Rivals are the same in both builds: what they moved by is noise.
            let noise = keys.filter { $0.operation == key.operation && $0.timers == key.timers && !$0.isOwn }
                .compactMap { moves[$0].flatMap(median) }.map { abs(log($0)) }.max()
            return Self.change(key, ratios, noise ?? 0, old, new)
        }
        if rows.isEmpty { throw BenchError("the results have no operation in common") }
    }

    func count(_ verdict: Verdict) -> Int { rows.lazy.filter { $0.verdict == verdict }.count }

    private typealias Rows = [OperationRow.Key: OperationRow]

    private static func ratios(of key: OperationRow.Key, _ old: [Rows], _ new: [Rows]) -> [Double] {
        zip(old, new).compactMap { old, new in
            guard let before = old[key]?.compared_ns, let after = new[key]?.compared_ns, before > 0, after > 0 else {
                return nil
            }
            return after / before
        }
    }

    private static func change(
        _ key: OperationRow.Key,
        _ ratios: [Double],
        _ noise: Double,
        _ old: [Rows],
        _ new: [Rows]
    ) -> OperationChange? {
        let (rowsBefore, rowsAfter) = (old.compactMap { $0[key] }, new.compactMap { $0[key] })
        guard let before = median(rowsBefore.compactMap(\.compared_ns)),
            let after = median(rowsAfter.compactMap(\.compared_ns))
        else { return nil }
        func allocations(_ rows: [OperationRow]) -> Double { median(rows.compactMap(\.allocationsPerOp)) ?? 0 }
        func early(_ rows: [OperationRow]) -> Int { rows.reduce(0) { $0 + ($1.early ?? 0) } }
        return OperationChange(
            key: key,
            before: before,
            after: after,
            interval: SignedRank.interval(of: ratios.map { log($0) }).map {
                ConfidenceInterval(low: exp($0.low), high: exp($0.high))
            },
            floor: max(least.part, least.amount_ns / before, exp(noise) - 1),
            newAllocations: allocations(rowsAfter) - allocations(rowsBefore),
            newlyEarly: max(0, early(rowsAfter) - early(rowsBefore))
        )
    }
}

extension ResultFile {
    fileprivate var operationsByKey: [OperationRow.Key: OperationRow] {
        Dictionary(operations.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension OperationRow {
    struct Key: Hashable, Sendable {
        let operation: String
        let timers: Int
        let id: String

        /// Whether its code may differ between two builds.
        var isOwn: Bool { id.hasPrefix("hrtimer.") }
    }

    var key: Key { Key(operation: operation, timers: timers, id: id) }

    /// What two builds are compared by: the time, or where it says nothing the processor time.
    var compared_ns: Double? { nsPerOp ?? cpuPerOp_ns }
}

// The changes of operations for people and for programs.
extension OperationChanges {
    var report: TableReport<OperationChange> {
        let notes = [
            "", rows.map(\.verdict).counted,
            "medians of the results; in brackets the 99.5 % interval of the ratio of after to before, over pairs of results",
            "faster and slower: that interval lies beyond the floor, which is the largest of 5 %, of 1 ns, and of what rivals",
            "of the same operation have moved by, whose code is the same in both builds; unclear: more results would tell",
        ]
        return TableReport(table: table, below: notes, key: "compared_operations")
    }

    private var table: Table<OperationChange> {
        Table(
            columns: [
                Column("verdict", isLeft: true) { $0.verdict.cell },
                Column("operation", isLeft: true) { .text($0.key.operation) },
                Column("timers") { .count($0.key.timers) },
                Column("rival", "id", isLeft: true) { .text($0.key.id) },
                Column("", "operation") { .text($0.key.operation) },
                Column("", "timers") { .count($0.key.timers) },
                Column("", "verdict") { $0.verdict.cell },
                Column("before", "before_ns") { operationTime($0.before) },
                Column("after", "after_ns") { operationTime($0.after) },
                Column("ratio", isLeft: true) { .text($0.evidence) },
                Column("", "ratio_low") { .number($0.interval?.low, decimals: 2) },
                Column("", "ratio_high") { .number($0.interval?.high, decimals: 2) },
                Column("", "floor") { .number($0.floor, decimals: 2) },
                Column("", "new_allocations_per_op") { .number($0.newAllocations, decimals: 2) },
                Column("", "newly_early") { .count($0.newlyEarly) },
            ],
            rows: rows
        )
    }
}

extension OperationChange {
    fileprivate var evidence: String {
        let interval = interval.map {
            "[\($0.low.formatted(decimals: 2)) … \($0.high.formatted(decimals: 2))], floor "
                + "\((floor * 100).formatted(decimals: 0)) %"
        }
        let early = newlyEarly > 0 ? ", \(newlyEarly.grouped) more fired early" : ""
        let allocations = newAllocations > 0.005 ? ", \(newAllocations.formatted(decimals: 2)) more allocations" : ""
        return (interval ?? "too few pairs") + allocations + early
    }
}

// The changes of operations for people and for programs.
extension OperationChanges: Report {
    func text(_ paint: Paint) -> String {
        let notes = [
            "", rows.map(\.verdict).counted,
            "medians of the results; in brackets the 99.5 % interval of the ratio of after to before, over pairs of results",
            "faster and slower: that interval lies beyond the floor, which is the largest of 5 %, of 1 ns, and of what rivals",
            "of the same operation have moved by, whose code is the same in both builds; unclear: more results would tell",
        ]
        return (table.lines(paint) + notes).joined(separator: "\n") + "\n"
    }

    var json: JSONValue { ["schema": .integer(1), "compared_operations": table.json] }

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

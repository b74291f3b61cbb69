/// The changes of operations as text for people.
struct OperationChangesText {
    let changes: OperationChanges
    let isColoured: Bool

    var text: String {
        let width = changes.rows.map(\.key.id.count).max() ?? 0
        let operationWidth = changes.rows.map(\.key.operation.count).max() ?? 0
        var lines = [
            "verdict  " + "operation".padded(to: operationWidth) + "timers".aligned(to: 9) + "  "
                + "rival".padded(to: width) + "before → after".aligned(to: 22) + "  ratio"
        ]
        for row in changes.rows {
            let times = "\(operationTimeText(row.before)) → \(operationTimeText(row.after))"
            lines.append(
                row.verdict.painted(isColoured) + row.key.operation.padded(to: operationWidth)
                    + row.key.timers.grouped.aligned(to: 9) + "  " + row.key.id.padded(to: width)
                    + times.aligned(to: 22) + "  " + evidence(row)
            )
        }
        let counts = Verdict.allCases.map { "\(changes.count($0)) \($0.rawValue)" }.joined(separator: ", ")
        lines += [
            "", counts,
            "medians of the results; in brackets the 99.5 % interval of the ratio of after to before, over pairs of results",
            "faster and slower: that interval lies beyond the floor, which is the largest of 5 %, of 1 ns, and of what rivals",
            "of the same operation have moved by, whose code is the same in both builds; unclear: more results would tell",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func evidence(_ row: OperationChange) -> String {
        let interval = row.interval.map {
            "[\($0.low.formatted(decimals: 2)) … \($0.high.formatted(decimals: 2))], floor "
                + "\((row.floor * 100).formatted(decimals: 0)) %"
        }
        let early = row.newlyEarly > 0 ? ", \(row.newlyEarly.grouped) more fired early" : ""
        let allocations =
            row.newAllocations > 0.005 ? ", \(row.newAllocations.formatted(decimals: 2)) more allocations" : ""
        return (interval ?? "too few pairs") + allocations + early
    }
}

extension OperationChanges {
    /// The changes as JSON.
    var json: JSONValue {
        [
            "schema": .integer(1),
            "compared_operations": .array(
                rows.map { row in
                    [
                        "id": .string(row.key.id), "operation": .string(row.key.operation),
                        "timers": JSONValue(row.key.timers), "verdict": .string(row.verdict.rawValue),
                        "before_ns": JSONValue(row.before), "after_ns": JSONValue(row.after),
                        "ratio_low": JSONValue(row.interval?.low), "ratio_high": JSONValue(row.interval?.high),
                        "floor": JSONValue(row.floor), "new_allocations_per_op": JSONValue(row.newAllocations),
                        "newly_early": JSONValue(row.newlyEarly),
                    ]
                }
            ),
        ]
    }
}

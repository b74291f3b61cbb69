// SPDX-License-Identifier: Apache-2.0
// A comparison for people and for programs.
extension Comparison {
    var report: TableReport<ComparedRow> {
        let notes = [
            "", rows.map(\.verdict).counted,
            "medians of the blocks, before and after; ≤ 1 µs: share of the fires that are exact; in brackets the 99.5 % interval "
                + "of the difference, over pairs of blocks",
            "faster and slower: that interval lies beyond the floor, which is the largest of a least difference, what each run's",
            "control measured twice differed by, and what the kernel's own subject of the kind has moved by; unclear: more "
                + "--blocks would tell",
        ]
        return TableReport(
            table: table,
            below: missing("only before", onlyBefore) + missing("only after", onlyAfter) + notes,
            key: "compared",
            more: [
                "only_before": .array(onlyBefore.map { .string($0) }),
                "only_after": .array(onlyAfter.map { .string($0) }),
            ]
        )
    }

    private func missing(_ title: String, _ names: [String]) -> [String] {
        names.isEmpty ? [] : ["\(title): \(names.joined(separator: ", "))"]
    }

    private var table: Table<ComparedRow> {
        // The interval is shown only if there are several.
        let interval = Set(rows.map(\.interval_ns)).count > 1 ? "interval" : ""
        let quantities = Quantity.allCases.map { quantity in
            Column<ComparedRow>(quantity.name, quantity.key) { row in
                let change = row[quantity]
                let text = change.map { "\(quantity.text($0.before)) → \(quantity.text($0.after))" }
                return Cell(text, change?.json ?? .null)
            }
        }
        return Table(
            columns: [
                Column("verdict", "verdict", isLeft: true) { $0.verdict.cell },
                Column("subject", "id", isLeft: true) { .text($0.id) },
                Column(interval, "interval_ns") { .time($0.interval_ns) },
                Column("", "reasons") { Cell("", .array($0.reasons.map { .string($0) })) },
            ] + quantities + [Column("", "newly_early") { .count($0.newlyEarly) }],
            rows: rows,
            note: { $0.reasons.joined(separator: ", ") },
            below: { $0.changes.filter { $0.verdict == .slower || $0.verdict == .faster }.map(evidence) }
        )
    }

    /// Returns the figures behind a verdict.
    private func evidence(_ change: Change) -> String {
        let text = change.quantity.text
        let sign = change.difference > 0 ? "+" : ""
        let interval = change.interval.map { "[\(text($0.low)) … \(text($0.high))]" } ?? ""
        return
            "           \(change.quantity.name) \(sign)\(text(change.difference)) \(interval), floor \(text(change.floor))"
    }
}

extension Change {
    fileprivate var json: JSONValue {
        [
            "before": JSONValue(before), "after": JSONValue(after), "difference_low": JSONValue(interval?.low),
            "difference_high": JSONValue(interval?.high), "floor": JSONValue(floor),
            "verdict": .string(verdict.rawValue),
        ]
    }
}

extension Verdict {
    var cell: Cell {
        switch self {
        case .faster: .text(rawValue, style: .green)
        case .slower: .text(rawValue, style: .red)
        case .same, .unclear: .text(rawValue)
        }
    }
}

extension [Verdict] {
    /// How many there are of each.
    var counted: String {
        Verdict.allCases.map { kind in "\(count { $0 == kind }) \(kind.rawValue)" }.joined(separator: ", ")
    }
}

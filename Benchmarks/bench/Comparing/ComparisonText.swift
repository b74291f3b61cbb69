// A comparison for people and for programs.
extension Comparison: Report {
    func text(_ paint: Paint) -> String {
        let notes = [
            "", rows.map(\.verdict).counted,
            "medians of the blocks, before and after; ≤ 1 µs: share of the fires that are exact; in brackets the 99.5 % interval "
                + "of the difference, over pairs of blocks",
            "faster and slower: that interval lies beyond the floor, which is the largest of a least difference, what each run's",
            "control measured twice differed by, and what the kernel's own subject of the kind has moved by; unclear: more "
                + "--blocks would tell",
        ]
        let missing =
            missing("only before", onlyBefore) + missing("only after", onlyAfter)
        return (table.lines(paint) + missing + notes).joined(separator: "\n") + "\n"
    }

    private var table: Table<ComparedRow> {
        var names: [Column<ComparedRow>] = [
            Column("verdict", isLeft: true) { $0.verdict.cell },
            Column("subject", isLeft: true) { .text($0.id) },
        ]
        if Set(rows.map(\.interval_ns)).count > 1 {
            names.append(Column("interval") { .time($0.interval_ns) })
        }
        let quantities = Quantity.allCases.map { quantity in
            Column<ComparedRow>(quantity.name) { row in
                .text(row[quantity].map { "\(quantity.text($0.before)) → \(quantity.text($0.after))" })
            }
        }
        return Table(
            columns: names + quantities,
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

    private func missing(_ title: String, _ names: [String]) -> [String] {
        names.isEmpty ? [] : ["\(title): \(names.joined(separator: ", "))"]
    }
}

extension Comparison {
    var json: JSONValue {
        let keys: [(key: String, quantity: Quantity)] = [
            ("p50_ns", .p50), ("p90_ns", .p90), ("p99_ns", .p99), ("within_1us_share", .exactShare),
            ("cpu_ns_per_fire", .cpuPerFire),
        ]
        let compared = rows.map { row -> JSONValue in
            let changes = keys.map { JSONValue.Member(key: $0.key, value: row[$0.quantity]?.json ?? .null) }
            return [
                "id": .string(row.id), "interval_ns": JSONValue(row.interval_ns),
                "verdict": .string(row.verdict.rawValue), "reasons": .array(row.reasons.map { .string($0) }),
            ] + .object(changes) + ["newly_early": JSONValue(row.newlyEarly)]
        }
        return [
            "schema": .integer(1),
            "compared": .array(compared),
            "only_before": .array(onlyBefore.map { .string($0) }),
            "only_after": .array(onlyAfter.map { .string($0) }),
        ]
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

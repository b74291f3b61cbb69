/// A comparison as text for people.
struct ComparisonText {
    let comparison: Comparison
    let isColoured: Bool

    var text: String {
        let width = comparison.rows.map(\.id.count).max() ?? 0
        let several = Set(comparison.rows.map(\.interval_ns)).count > 1
        var lines = [head(width, several)]
        for row in comparison.rows {
            lines.append(line(row, width, several))
            lines += row.changes.filter { $0.verdict == .slower || $0.verdict == .faster }.map(evidence)
        }
        lines += missing("only before", comparison.onlyBefore) + missing("only after", comparison.onlyAfter)
        let counts = Verdict.allCases.map { "\(comparison.count($0)) \($0.rawValue)" }.joined(separator: ", ")
        lines += [
            "", counts,
            "medians of the blocks, before and after; ≤ 1 µs: share of the fires that are exact; in brackets the 99.5 % interval "
                + "of the difference, over pairs of blocks",
            "faster and slower: that interval lies beyond the floor, which is the largest of a least difference, what each run's",
            "control measured twice differed by, and what the kernel's own subject of the kind has moved by; unclear: more "
                + "--blocks would tell",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func head(_ width: Int, _ several: Bool) -> String {
        "verdict  " + "subject".padded(to: width) + (several ? "interval".aligned(to: 11) : "")
            + Quantity.allCases.map { $0.name.aligned(to: 22) }.joined()
    }

    private func line(_ row: ComparedRow, _ width: Int, _ several: Bool) -> String {
        let interval = several ? timeText(row.interval_ns).aligned(to: 11) : ""
        let cells = Quantity.allCases.map { (row[$0].map(pair) ?? "–").aligned(to: 22) }
        let reasons = row.reasons.isEmpty ? "" : "  " + row.reasons.joined(separator: ", ")
        return row.verdict.painted(isColoured) + row.id.padded(to: width) + interval + cells.joined() + reasons
    }

    private func pair(_ change: Change) -> String {
        "\(change.quantity.text(change.before)) → \(change.quantity.text(change.after))"
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
    /// The comparison as JSON.
    var json: JSONValue {
        func change(_ change: Change?) -> JSONValue {
            guard let change else { return .null }
            return [
                "before": JSONValue(change.before), "after": JSONValue(change.after),
                "difference_low": JSONValue(change.interval?.low), "difference_high": JSONValue(change.interval?.high),
                "floor": JSONValue(change.floor), "verdict": .string(change.verdict.rawValue),
            ]
        }
        return [
            "schema": .integer(1),
            "compared": .array(
                rows.map { row in
                    [
                        "id": .string(row.id), "interval_ns": JSONValue(row.interval_ns),
                        "verdict": .string(row.verdict.rawValue),
                        "reasons": .array(row.reasons.map { .string($0) }),
                        "p50_ns": change(row[.p50]), "p90_ns": change(row[.p90]), "p99_ns": change(row[.p99]),
                        "within_1us_share": change(row[.exactShare]), "cpu_ns_per_fire": change(row[.cpuPerFire]),
                        "newly_early": JSONValue(row.newlyEarly),
                    ]
                }
            ),
            "only_before": .array(onlyBefore.map { .string($0) }),
            "only_after": .array(onlyAfter.map { .string($0) }),
        ]
    }
}

extension Verdict {
    func painted(_ isColoured: Bool) -> String {
        let text = rawValue.padded(to: 9)
        guard isColoured else { return text }
        switch self {
        case .faster: return "\u{1b}[32m\(text)\u{1b}[0m"
        case .slower: return "\u{1b}[31m\(text)\u{1b}[0m"
        case .same, .unclear: return text
        }
    }
}

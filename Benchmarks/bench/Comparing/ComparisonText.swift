/// A comparison as a person reads it.
struct ComparisonText {
    let comparison: Comparison
    let isColoured: Bool

    var text: String {
        let width = comparison.rows.map(\.id.count).max() ?? 0
        let several = Set(comparison.rows.map(\.interval_ns)).count > 1
        var lines = [head(width, several)]
        lines += comparison.rows.map { line($0, width, several) }
        lines += missing("only before", comparison.onlyBefore) + missing("only after", comparison.onlyAfter)
        let counts = Verdict.allCases.map { "\(comparison.count($0)) \($0.rawValue)" }.joined(separator: ", ")
        lines += [
            "", counts,
            "p50, p90 and CPU: medians of the blocks, before and after; in brackets the 99 % interval of the difference, over "
                + "pairs of blocks",
            "faster and slower: that interval lies beyond the floor, which is the largest of 1 µs, 5 %, what each run's "
                + "reference",
            "measured twice differed by, and what the reference differs by between the runs; unclear: more --blocks would tell",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func head(_ width: Int, _ several: Bool) -> String {
        "verdict  " + "subject".padded(to: width) + (several ? "interval".aligned(to: 11) : "")
            + "p50".aligned(to: 21) + "difference".aligned(to: 34) + "p90".aligned(to: 22)
            + "CPU a fire".aligned(to: 22)
            + "floor".aligned(to: 10)
    }

    private func line(_ row: ComparedRow, _ width: Int, _ several: Bool) -> String {
        let interval = several ? timeText(row.interval_ns).aligned(to: 11) : ""
        let early = row.newlyEarly > 0 ? "  \(row.newlyEarly.grouped) more fired early" : ""
        return painted(row.verdict) + row.id.padded(to: width) + interval
            + pair(row.p50).aligned(to: 21) + difference(row.p50).aligned(to: 34)
            + (row.p90.map(pair) ?? "–").aligned(to: 22) + (row.cpu.map(cost) ?? "–").aligned(to: 22)
            + timeText(row.p50.floor).aligned(to: 10) + early
    }

    private func pair(_ change: Change) -> String {
        "\(timeText(change.before)) → \(timeText(change.after))"
    }

    /// With a sign where it alone makes the verdict.
    private func cost(_ change: Change) -> String {
        let sign = change.verdict == .slower ? "▲ " : change.verdict == .faster ? "▼ " : ""
        return sign + pair(change)
    }

    private func difference(_ change: Change) -> String {
        let sign = change.difference > 0 ? "+" : ""
        let interval = change.interval.map { " [\(timeText($0.low)) … \(timeText($0.high))]" } ?? " [too few blocks]"
        return sign + timeText(change.difference) + interval
    }

    private func missing(_ title: String, _ names: [String]) -> [String] {
        names.isEmpty ? [] : ["\(title): \(names.joined(separator: ", "))"]
    }

    private func painted(_ verdict: Verdict) -> String {
        let text = verdict.rawValue.padded(to: 9)
        guard isColoured else { return text }
        switch verdict {
        case .faster: return "\u{1b}[32m\(text)\u{1b}[0m"
        case .slower: return "\u{1b}[31m\(text)\u{1b}[0m"
        case .same, .unclear: return text
        }
    }
}

extension Comparison {
    /// For programs.
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
                        "verdict": .string(row.verdict.rawValue), "p50_ns": change(row.p50), "p90_ns": change(row.p90),
                        "cpu_ns_per_fire": change(row.cpu), "newly_early": JSONValue(row.newlyEarly),
                    ]
                }
            ),
            "only_before": .array(onlyBefore.map { .string($0) }),
            "only_after": .array(onlyAfter.map { .string($0) }),
        ]
    }
}

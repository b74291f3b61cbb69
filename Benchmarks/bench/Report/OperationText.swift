/// The result of `bench ops` for people: the host, then one table for each comparison.
struct OperationText {
    let session: OperationSession
    let host: HostReport
    let isColoured: Bool

    var text: String {
        (heading + session.comparisons.flatMap(table) + notes).joined(separator: "\n") + "\n"
    }

    private var heading: [String] {
        let facts = host.facts.map { fact in "  \(fact.title.padded(to: 16))\(fact.text)" }
        let place = session.cpu.map { "queues alone on processor \($0), what has threads of its own on any" }
        return [bold("host")] + facts + [
            "",
            bold("operations: what one costs, with so many timers pending"),
            "  \(session.rounds) rounds, each with every rival once in random order, seed \(session.seed)",
            "  \(place ?? "on any processor")",
            "  time: median of the rounds; ratio: median of the ratios within each round",
        ]
    }

    private func table(_ comparison: ComparisonResult) -> [String] {
        let shown = comparison.comparison
        let title = "\(shown.operation), \(shown.timers.grouped) timers"
        let columns = Self.columns.filter { column in
            column.isAlwaysShown || comparison.results.contains { column.cell(comparison, $0) != nil }
        }
        let width = max(20, comparison.results.map(\.id.count).max() ?? 0)
        let head = "  " + "".padded(to: width) + columns.map { $0.title.aligned(to: $0.width) }.joined()
        return ["", bold(title) + "  " + shown.explanation, head]
            + comparison.results.map { result in
                let id = "  " + result.id.padded(to: width)
                if result.samples.isEmpty { return "\(id)  not measured: \(result.skippedBecause ?? "interrupted")" }
                let cells = columns.map { ($0.cell(comparison, result) ?? "–").aligned(to: $0.width) }
                return id + cells.joined() + remarks(result)
            }
    }

    private struct Column: Sendable {
        let title: String
        let width: Int
        var isAlwaysShown = false
        let cell: @Sendable (ComparisonResult, OperationResult) -> String?
    }

    private static let columns = [
        Column(title: "time", width: 10) { $1.nsPerOp.map(operationTimeText) },
        Column(title: "ratio", width: 9, isAlwaysShown: true) { comparison, result in
            comparison.ratio(result).map { $0.formatted(decimals: 2) }
        },
        Column(title: "CPU", width: 10) { $1.cpuPerOp_ns.map(operationTimeText) },
        Column(title: "longest call", width: 14) { $1.longestCall_ns.map { timeText($0) } },
        Column(title: "p99.9 call", width: 12) { $1.pollP999_ns.map { timeText($0) } },
        Column(title: "instr/op", width: 10) { $1.instructionsPerOp.map { $0.formatted(decimals: 1) } },
        Column(title: "bytes/timer", width: 13) { $1.bytesPerTimer.map { $0.formatted(decimals: 0) } },
        Column(title: "left", width: 8) { $1.bytesLeftPerTimer.map { $0.formatted(decimals: 0) } },
        Column(title: "allocs/op", width: 11) { $1.allocationsPerOp.map { $0.formatted(decimals: 2) } },
        Column(title: "locks/op", width: 10) { $1.locksPerOp.map { $0.formatted(decimals: 2) } },
        Column(title: "wakes/op", width: 10) { $1.wakesPerOp.map { $0.formatted(decimals: 4) } },
        Column(title: "wake-ups/s", width: 12) { $1.wakeupsPerSecond.map { $0.formatted(decimals: 0) } },
        Column(title: "fewest/s", width: 10) { $1.greedyWakeupsPerSecond.map { $0.formatted(decimals: 0) } },
    ]

    /// Returns remarks about what makes a number unreliable.
    private func remarks(_ result: OperationResult) -> String {
        var remarks: [String] = []
        if result.early > 0 { remarks.append("\(Int(result.early).grouped) fired early") }
        if result.inversions > 0 { remarks.append("\(Int(result.inversions).grouped) fired after a later one") }
        if let reason = result.skippedBecause { remarks.append("stopped: \(reason)") }
        return remarks.isEmpty ? "" : "  " + remarks.joined(separator: ", ")
    }

    private var notes: [String] {
        var notes = [
            "",
            "CPU is the whole process's, allocs and locks those of the thread that operates; – means that it is not known",
        ]
        if session.comparisons.contains(where: { $0.comparison.operation == "expire" }) {
            notes.append(
                "expire: each step has two clock readings, most of the time where timers are few; libevent.timer, which "
                    + "cannot be told the time, fires all in one call"
            )
        }
        if session.wasInterrupted { notes.append("interrupted: this is what there was until then") }
        return notes
    }

    private func bold(_ text: String) -> String {
        isColoured ? "\u{1b}[1m\(text)\u{1b}[0m" : text
    }
}

/// Returns one decimal below 100 ns, where operations differ by less than a nanosecond.
func operationTimeText(_ time_ns: Double) -> String {
    time_ns < 99.95 ? "\(time_ns.formatted(decimals: 1)) ns" : timeText(time_ns)
}

/// How a result is shown as text.
struct TextView: Sendable {
    var isColoured = false
    /// The number of columns; nil for as many as are needed.
    var width: Int?
    var bars: BarScale = .linear
    /// Whether the summary is repeated at the end, where a terminal stops.
    var endsInShort = false
}

/// A result as text for people: a summary, then the host, a histogram for each subject, curves, and the whole table.
struct ResultText {
    let file: ResultFile
    let view: TextView

    var text: String {
        let intervals_ns = file.intervals_ns
        guard intervals_ns.count == 1, let interval_ns = intervals_ns.first else { return sweep(intervals_ns) }
        let digest = Digest(file, interval_ns: interval_ns).lines(width: view.width, bold: bold)
        var lines = digest + (digest.isEmpty ? [] : [""]) + host + heading(interval_ns) + histograms
        lines += curves(interval_ns) + strips + table(interval_ns) + intervals(interval_ns)
        lines += notes(interval_ns) + legend
        if view.endsInShort, !digest.isEmpty { lines += [""] + digest }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the host, and then a table for each interval.
    private func sweep(_ intervals_ns: [Int64]) -> String {
        let tables = intervals_ns.flatMap { interval_ns -> [String] in
            var lines = ["", bold("every \(timeText(interval_ns))")]
            lines += wrapped("  \(blocks(interval_ns)), seed \(file.seed)", to: view.width)
            lines += table(interval_ns).dropFirst()
            lines += notes(interval_ns).dropFirst()
            return lines
        }
        return (host + tables + legend).joined(separator: "\n") + "\n"
    }

    private var host: [String] {
        [bold("host")]
            + file.host.lines.flatMap { title, text in
                wrapped(text, to: view.width.map { max(20, $0 - 18) }, indent: 0).enumerated().map { number, line in
                    "  " + (number == 0 ? title : "").padded(to: 16) + line
                }
            }
    }

    private func rows(_ interval_ns: Int64) -> [ResultRow] { file.rows.filter { $0.interval_ns == interval_ns } }

    private func blocks(_ interval_ns: Int64) -> String {
        let most = rows(interval_ns).max { $0.blocks.count < $1.blocks.count }
        let fires = most?.blocks.map(\.fires).max() ?? 0
        return "\(most?.blocks.count ?? 0) blocks of \(fires.grouped)"
    }

    private func heading(_ interval_ns: Int64) -> [String] {
        [
            "",
            "lateness: time from each deadline to the first instruction after the wait, or of the handler",
        ]
        .flatMap { wrapped($0, to: view.width) }.map { $0.isEmpty ? $0 : bold($0) }
            + wrapped(
                "  absolute deadlines every \(timeText(interval_ns)), \(blocks(interval_ns)) for each subject in random order, "
                    + "seed \(file.seed); bars are \(view.bars == .linear ? "in proportion" : "logarithmic")",
                to: view.width
            )
    }

    private var histograms: [String] {
        file.rows.flatMap { row in
            let explanation = Subject.all.first { $0.id == row.id }.map { "  " + $0.explanation } ?? ""
            var lines = [""] + wrapped(row.id + explanation, to: view.width)
            lines[1] = lines[1].replacing(row.id, with: bold(row.id), maxReplacements: 1)
            if let reason = row.skippedBecause { lines += wrapped("  not measured: \(reason)", to: view.width) }
            return lines + HistogramPlot.lines(row.distribution.buckets, scale: view.bars, width: view.width)
        }
    }

    private func curves(_ interval_ns: Int64) -> [String] {
        let best = Digest(file, interval_ns: interval_ns).families.map(\.row)
        let plot = CurvePlot.lines(best.isEmpty ? rows(interval_ns) : best, width: view.width)
        return plot.isEmpty ? [] : ["", bold("so many fires are no later than that")] + plot
    }

    private var strips: [String] {
        let lines = TimeStrip.lines(file.rows, width: view.width)
        guard !lines.isEmpty else { return [] }
        let title = wrapped("over time: the median of each block, on a scale of its own", to: view.width)
        return [""] + title.map(bold) + lines
    }

    private func table(_ interval_ns: Int64) -> [String] {
        let rows = rows(interval_ns)
        let table = TextTable(
            nameTitle: "subject",
            columns: Self.columns.map { TextTable.Column(title: $0.title, rank: $0.rank) },
            rows: rows.map { row in
                guard row.fires > 0 else {
                    return .init(
                        name: row.id,
                        cells: [],
                        remark: "not measured: \(row.skippedBecause ?? "interrupted")"
                    )
                }
                return .init(name: row.id, cells: Self.columns.map { $0.cell(row) }, alarms: row.early > 0 ? [1] : [])
            },
            paint: { text, isAlarm in isAlarm ? alarming(text) : bold(text) }
        )
        let (lines, left) = table.lines(width: view.width)
        return [""] + lines
            + (left.isEmpty ? [] : wrapped("no room for: \(left.joined(separator: ", "))", to: view.width))
    }

    private struct Column: Sendable {
        let title: String
        let rank: Int
        /// The meaning of the column, for the legend.
        let meaning: String
        let cell: @Sendable (ResultRow) -> String
    }

    private static func time(_ time_ns: Int64?) -> String { time_ns.map { timeText($0) } ?? "–" }

    private static let columns: [Column] = [
        Column(title: "fires", rank: 12, meaning: "how many there were") { $0.fires.grouped },
        Column(title: "early", rank: 3, meaning: "fires before their deadline") { $0.early.grouped },
        Column(title: "missed", rank: 7, meaning: "deadlines that passed before the timer got to them") {
            $0.missed.grouped
        },
        Column(title: "min", rank: 11, meaning: "the least late") { time($0.lateness.min) },
        Column(title: "p50", rank: 0, meaning: "half of the fires are no later") { time($0.lateness.p50) },
        Column(title: "p90", rank: 4, meaning: "nine of ten are no later") { time($0.lateness.p90) },
        Column(title: "p95", rank: 10, meaning: "19 of 20") { time($0.lateness.p95) },
        Column(title: "p99", rank: 1, meaning: "99 of 100") { time($0.lateness.p99) },
        Column(title: "p99.9", rank: 9, meaning: "999 of 1000") { time($0.lateness.p999) },
        Column(title: "max", rank: 7, meaning: "the latest") { time($0.lateness.max) },
        Column(title: "≤1µs", rank: 5, meaning: "share of the fires that are neither early nor later than that") {
            "\(($0.exactShare * 100).formatted(decimals: 1)) %"
        },
        Column(
            title: "p99 all",
            rank: 8,
            meaning:
                "99 of 100 of all deadlines, those that had no fire of their own by the fire that they were left to"
        ) { time($0.intended?.p99) },
        Column(title: "CPU/fire", rank: 2, meaning: "processor time of the whole process, from first fire to last") {
            $0.cpuPerFire_ns.map { timeText($0) } ?? "–"
        },
        Column(
            title: "machine",
            rank: 13,
            meaning: "what all processors spent meanwhile, interrupts too, for each fire; counted in ticks of 10 ms"
        ) { $0.machineCPUPerFire_ns.map { timeText($0) } ?? "–" },
        Column(title: "switches", rank: 6, meaning: "context switches of the whole process, for each fire") {
            $0.switchesPerFire?.formatted(decimals: 2) ?? "–"
        },
        Column(title: "drift", rank: 12, meaning: "how fast lateness grows within a block") {
            $0.drift_ppm.map { "\(($0 / 10_000).formatted(decimals: 2)) %" } ?? "–"
        },
    ]

    private var legend: [String] {
        let meanings = Self.columns.map { "\($0.title): \($0.meaning)" }.joined(separator: "; ")
        return wrapped("\(meanings). – means too few fires to tell.", to: view.width ?? 120)
    }

    /// Returns a table of the confidence intervals.
    private func intervals(_ interval_ns: Int64) -> [String] {
        let rows = rows(interval_ns).filter { $0.confidence != nil }
        guard !rows.isEmpty else { return [] }
        func times(_ ends: [Int64]?) -> String { ends.map { "\(timeText($0[0])) … \(timeText($0[1]))" } ?? "–" }
        func costs(_ ends: [Double]?) -> String { ends.map { "\(timeText($0[0])) … \(timeText($0[1]))" } ?? "–" }
        let table = TextTable(
            nameTitle: "where they lie, 19 times of 20",
            columns: ["p50", "p90", "p99", "CPU/fire"].enumerated().map { .init(title: $1, rank: [0, 2, 1, 3][$0]) },
            rows: rows.map { row in
                let confidence = row.confidence!
                return .init(
                    name: row.id,
                    cells: [
                        times(confidence.p50_ns), times(confidence.p90_ns), times(confidence.p99_ns),
                        costs(confidence.cpuPerFire_ns),
                    ]
                )
            },
            paint: { text, _ in bold(text) }
        )
        return [""] + table.lines(width: view.width).lines
    }

    private func notes(_ interval_ns: Int64) -> [String] {
        var notes: [String] = file.grants.map { "\($0.name): \($0.isGranted ? "granted" : "refused")" }
        for kind in Subject.Kind.allCases {
            guard let floor = file.floor(of: kind, at: interval_ns) else { continue }
            let p99 = floor.p99_ns.map { ", \(timeText($0)) at p99" } ?? ""
            let cpu = floor.cpuPerFire_ns.map { ", \(timeText($0)) of CPU" } ?? ""
            notes.append(
                "noise floor: \(floor.id), measured twice, differed by \(timeText(floor.p50_ns)) at p50\(p99)\(cpu); "
                    + "differences below that say nothing"
            )
        }
        let blocks = rows(interval_ns).flatMap(\.blocks)
        let marked = blocks.filter(\.isMarked).count
        if marked > 0 {
            let share = "\(marked) of \(blocks.count) blocks"
            notes.append("disturbed: \(share) saw steal, throttling or foreign load; they are counted all the same")
        }
        if file.isInterrupted { notes.append("interrupted: this is what there was until then") }
        return [""] + notes.flatMap { wrapped($0, to: view.width) }
    }

    private func bold(_ text: String) -> String {
        view.isColoured ? "\u{1b}[1m\(text)\u{1b}[0m" : text
    }

    private func alarming(_ text: String) -> String {
        view.isColoured ? "\u{1b}[31m\(text)\u{1b}[0m" : text
    }
}

// SPDX-License-Identifier: Apache-2.0
/// How a result is shown as text.
struct TextView: Sendable {
    var paint = Paint()
    /// The number of columns; nil for as many as are needed.
    var width: Int?
    /// Whether the summary is repeated at the end, where a terminal stops.
    var endsInShort = false
}

/// A result as text for people: a summary, then the host, a histogram for each subject, and the whole table.
struct ResultText {
    let file: ResultFile
    let view: TextView

    var text: String {
        let intervals_ns = file.intervals_ns
        guard intervals_ns.count == 1, let interval_ns = intervals_ns.first else { return sweep(intervals_ns) }
        let digest = Digest(file, interval_ns: interval_ns).lines(width: view.width, bold: view.paint.bold)
        var lines = digest + (digest.isEmpty ? [] : [""]) + host + heading(interval_ns) + histograms
        lines += table(interval_ns) + intervals(interval_ns) + notes(interval_ns) + legend
        if view.endsInShort, !digest.isEmpty { lines += [""] + digest }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the host, and then a table for each interval.
    private func sweep(_ intervals_ns: [Int64]) -> String {
        let tables = intervals_ns.flatMap { interval_ns -> [String] in
            var lines = ["", view.paint.bold("every \(timeText(interval_ns))")]
            lines += wrapped("  \(blocks(interval_ns)), seed \(file.seed)", to: view.width)
            lines += table(interval_ns).dropFirst()
            lines += notes(interval_ns).dropFirst()
            return lines
        }
        return (host + tables + legend).joined(separator: "\n") + "\n"
    }

    private var host: [String] {
        [view.paint.bold("host")]
            + file.host.lines.flatMap { title, text in
                wrapped(text, to: view.width.map { max(20, $0 - 18) }, indent: 0).enumerated().map { number, line in
                    "  " + (number == 0 ? title : "").padded(to: 16) + line
                }
            }
    }

    private func blocks(_ interval_ns: Int64) -> String {
        let most = file.rows(at: interval_ns).max { $0.blocks.count < $1.blocks.count }
        let fires = most?.blocks.map(\.fires).max() ?? 0
        return "\(most?.blocks.count ?? 0) blocks of \(fires.grouped)"
    }

    private func heading(_ interval_ns: Int64) -> [String] {
        [
            "",
            "lateness: time from each deadline to the first instruction after the wait, or of the handler",
        ]
        .flatMap { wrapped($0, to: view.width) }.map { $0.isEmpty ? $0 : view.paint.bold($0) }
            + wrapped(
                "  absolute deadlines every \(timeText(interval_ns)), \(blocks(interval_ns)) for each subject in random order, "
                    + "seed \(file.seed); bars are in proportion",
                to: view.width
            )
    }

    private var histograms: [String] {
        file.rows.flatMap { row in
            let explanation = Subject.all.first { $0.id == row.id }.map { "  " + $0.explanation } ?? ""
            var lines = [""] + wrapped(row.id + explanation, to: view.width)
            lines[1] = lines[1].replacing(row.id, with: view.paint.bold(row.id), maxReplacements: 1)
            if let reason = row.skippedBecause { lines += wrapped("  not measured: \(reason)", to: view.width) }
            return lines + HistogramPlot.lines(row.distribution.buckets, width: view.width)
        }
    }

    private func table(_ interval_ns: Int64) -> [String] {
        let table = Table.latencies(file.rows(at: interval_ns))
        let (lines, left) = table.fitted(to: view.width, view.paint)
        return [""] + lines
            + (left.isEmpty ? [] : wrapped("no room for: \(left.joined(separator: ", "))", to: view.width))
    }

    private var legend: [String] {
        let meanings = Column.latencies().filter { !$0.meaning.isEmpty }
            .map { "\($0.title): \($0.meaning)" }.joined(separator: "; ")
        return wrapped("\(meanings). – means too few fires to tell.", to: view.width ?? 120)
    }

    /// Returns a table of the confidence intervals.
    private func intervals(_ interval_ns: Int64) -> [String] {
        let rows = file.rows(at: interval_ns).filter { $0.confidence != nil }
        guard !rows.isEmpty else { return [] }
        func between(_ ends: [Double]?) -> Cell { .text(ends.map { "\(timeText($0[0])) … \(timeText($0[1]))" }) }
        func between(_ ends: [Int64]?) -> Cell { between(ends?.map(Double.init)) }
        let table = Table(
            columns: [
                Column("where they lie, 19 times of 20", isLeft: true) { .text($0.id) },
                Column("p50", rank: 0) { between($0.confidence?.p50_ns) },
                Column("p90", rank: 2) { between($0.confidence?.p90_ns) },
                Column("p99", rank: 1) { between($0.confidence?.p99_ns) },
                Column("CPU/fire", rank: 3) { between($0.confidence?.cpuPerFire_ns) },
            ],
            rows: rows
        )
        return [""] + table.fitted(to: view.width, view.paint).lines
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
        let blocks = file.rows(at: interval_ns).flatMap(\.blocks)
        let marked = blocks.filter(\.isMarked).count
        if marked > 0 {
            let share = "\(marked) of \(blocks.count) blocks"
            notes.append("disturbed: \(share) saw steal, throttling or foreign load; they are counted all the same")
        }
        if file.isInterrupted { notes.append("interrupted: this is what there was until then") }
        return [""] + notes.flatMap { wrapped($0, to: view.width) }
    }
}

import HRTimerCore

/// What a person reads: the host, a histogram for each subject, then one table.
struct TextReport {
    let session: Session
    let host: HostReport
    let isColoured: Bool

    var text: String {
        (heading + histograms + summary + notes).joined(separator: "\n") + "\n"
    }

    /// One report, or for a sweep the host and then a table for each interval.
    static func text(of sessions: [Session], host: HostReport, isColoured: Bool) -> String {
        let reports = sessions.map { TextReport(session: $0, host: host, isColoured: isColoured) }
        guard reports.count > 1 else { return reports.first?.text ?? "" }
        let tables = reports.flatMap { report in
            let plan = report.session.plan
            let blocks = "\(plan.schedule.rounds) blocks of \(plan.firesPerBlock.grouped), seed \(plan.seed)"
            return ["", report.bold("every \(timeText(plan.interval_ns))") + "  \(blocks)"]
                + report.summary.dropFirst() + report.notes.dropFirst()
        }
        return (reports[0].facts + tables).joined(separator: "\n") + "\n"
    }

    private var facts: [String] {
        [bold("host")] + host.facts.map { fact in "  \(fact.title.padded(to: 16))\(fact.text)" }
    }

    private var heading: [String] {
        let plan = session.plan
        return facts + [
            "",
            bold("lateness: time from each deadline to the first instruction after the wait, or of the handler"),
            "  absolute deadlines every \(timeText(plan.interval_ns)), \(plan.schedule.rounds) blocks of "
                + "\(plan.firesPerBlock.grouped) for each subject in random order, seed \(plan.seed)",
            "  the bars of the histograms are logarithmic",
        ]
    }

    private var histograms: [String] {
        session.results.flatMap { result in
            var lines = ["", bold(result.subject.id) + "  " + result.subject.explanation]
            if let reason = result.skippedBecause { lines.append("  not measured: \(reason)") }
            return lines + HistogramPlot.lines(result.lateness.buckets_ns)
        }
    }

    private var summary: [String] {
        let width = session.results.map(\.subject.id.count).max() ?? 0
        let head = "subject".padded(to: width) + Self.titles.map { $0.aligned(to: columnWidth($0)) }.joined()
        return ["", bold(head)]
            + session.results.map { result in
                let id = result.subject.id.padded(to: width)
                guard result.lateness.count > 0 else {
                    return "\(id)  not measured: \(result.skippedBecause ?? "interrupted")"
                }
                var row = zip(Self.titles, cells(of: result)).map { $1.aligned(to: columnWidth($0)) }
                if result.lateness.earlyCount > 0 { row[1] = alarming(row[1]) }
                return id + row.joined()
            }
    }

    private static let titles = [
        "fires", "early", "missed", "min", "p50", "p90", "p95", "p99", "p99.9", "max", "CPU/fire", "switches", "drift",
    ]

    private func columnWidth(_ title: String) -> Int {
        switch title {
        case "early": 8
        case "missed", "switches": 10
        default: 9
        }
    }

    private func cells(of result: SubjectResult) -> [String] {
        let lateness = result.lateness
        func time(_ time_ns: Int64?) -> String { time_ns.map { timeText($0) } ?? "–" }
        return [
            lateness.count.grouped,
            lateness.earlyCount.grouped,
            result.missed.grouped,
            time(lateness.min_ns),
            time(lateness.value_ns(at: .p50)),
            time(lateness.value_ns(at: .p90)),
            time(lateness.value_ns(at: .p95)),
            time(lateness.value_ns(at: .p99)),
            time(lateness.value_ns(at: .p999)),
            time(lateness.max_ns),
            result.usage.cpuPerFire_ns.map { timeText($0) } ?? "–",
            result.usage.switchesPerFire?.formatted(decimals: 2) ?? "–",
            result.drift_ppm.map { "\(($0 / 10_000).formatted(decimals: 2)) %" } ?? "–",
        ]
    }

    private var notes: [String] {
        var notes = [""]
        if let floor = session.noiseFloor {
            let p99 = floor.p99_ns.map { ", \(timeText($0)) at p99" } ?? ""
            let cpu = floor.cpuPerFire_ns.map { ", \(timeText($0)) of CPU" } ?? ""
            notes.append(
                "noise floor: \(floor.id), measured twice, differed by \(timeText(floor.p50_ns)) at p50\(p99)\(cpu); "
                    + "differences below that say nothing"
            )
        }
        let blocks = session.results.flatMap(\.blocks)
        let marked = blocks.filter(\.disturbance.isMarked).count
        if marked > 0 {
            let share = "\(marked) of \(blocks.count) blocks"
            notes.append("disturbed: \(share) saw steal, throttling or foreign load; they are counted all the same")
        }
        notes.append("CPU and context switches are the whole process's, from first fire to last; – means too few fires")
        if session.wasInterrupted { notes.append("interrupted: this is what there was until then") }
        return notes
    }

    private func bold(_ text: String) -> String {
        isColoured ? "\u{1b}[1m\(text)\u{1b}[0m" : text
    }

    private func alarming(_ text: String) -> String {
        isColoured ? "\u{1b}[31m\(text)\u{1b}[0m" : text
    }
}

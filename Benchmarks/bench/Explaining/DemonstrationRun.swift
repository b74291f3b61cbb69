import CHRTimer

/// Measures the rows of a demonstration, alternately.
enum DemonstrationRun {
    private static let rounds = 2

    /// Returns the figures of each row, in order. Throws the subject's error if it cannot run here.
    static func figures(_ demonstration: Demonstration) throws -> [Demonstration.Figures] {
        var blocks = demonstration.rows.map { _ in (latenesses_ns: [Int64](), usage: Usage()) }
        for _ in 0..<rounds {
            for (index, row) in demonstration.rows.enumerated() {
                let recorder = try measure(row, demonstration)
                blocks[index].latenesses_ns += recorder.fires.map(\.lateness_ns)
                blocks[index].usage = blocks[index].usage + recorder.usage
            }
        }
        return blocks.map { block in
            let sorted = block.latenesses_ns.sorted()
            return Demonstration.Figures(
                p50_ns: sorted[(sorted.count - 1) / 2],
                max_ns: sorted[sorted.count - 1],
                cpuPerFire_ns: block.usage.cpuPerFire_ns ?? 0,
                pageFaultsPerFire: block.usage.perFire(block.usage.pageFaults) ?? 0
            )
        }
    }

    private static func measure(_ row: Demonstration.Row, _ demonstration: Demonstration) throws -> BlockRecorder {
        guard let subject = Subject.all.first(where: { $0.id == row.subjectID }) else {
            throw BenchError("no subject \(row.subjectID)")
        }
        let planned_ns = Int64(demonstration.fires) * demonstration.interval_ns
        let recorder = BlockRecorder(
            fires: max(2, demonstration.fires / rounds),
            interval_ns: demonstration.interval_ns,
            phase_ns: 0,
            patience_ns: planned_ns
        )
        try onFreshThread {
            if let slack_ns = row.slack_ns {
                let status = hrt_thread_set_timer_slack_ns(slack_ns)
                if status != 0 { throw BenchError("timer slack cannot be set (errno \(-status))") }
            }
            try subject.measure(recorder)
        }
        return recorder
    }

    /// Returns a table of the rows, and the sentence about them.
    static func lines(_ demonstration: Demonstration, _ figures: [Demonstration.Figures]) -> [String] {
        let rows = zip(demonstration.rows, figures).map { row, figures in
            [row.label, timeText(figures.p50_ns), timeText(figures.max_ns), timeText(figures.cpuPerFire_ns)]
        }
        let table = Table(columns: Column.texts(["", "p50", "max", "CPU/fire"]), rows: rows)
        return (table.lines() + [demonstration.says(figures)]).map { "  " + $0 }
    }
}

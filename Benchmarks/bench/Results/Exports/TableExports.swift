/// Tables for other programs, and for pages.
enum TableExports {
    /// Returns RFC 4180 with a line for each subject or operation; times are in ns, and unknown values are empty.
    static func csv(_ file: ResultFile) -> String {
        file.rows.isEmpty ? operationsCSV(file) : latenciesCSV(file)
    }

    private static func latenciesCSV(_ file: ResultFile) -> String {
        let head = [
            "id", "interval_ns", "n", "early", "missed", "min_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns",
            "max_ns",
            "mean_ns", "sd_ns", "cpu_ns_per_fire", "context_switches_per_fire", "wakeups_per_fire", "drift_ppm",
            "skipped_because",
        ]
        let lines = file.rows.map { row -> [String?] in
            let lateness = row.lateness
            let times = [
                lateness.min, lateness.p50, lateness.p90, lateness.p95, lateness.p99, lateness.p999, lateness.max,
            ]
            let rest = [
                lateness.mean, lateness.sd, row.cpuPerFire_ns, row.switchesPerFire, row.wakeupsPerFire, row.drift_ppm,
            ]
            return [row.id, "\(row.interval_ns)", "\(row.fires)", "\(row.early)", "\(row.missed)"]
                + times.map { $0.map { "\($0)" } } + rest.map { $0.map { "\($0)" } } + [row.skippedBecause]
        }
        return csv(head, lines)
    }

    private static func operationsCSV(_ file: ResultFile) -> String {
        let head = ["id", "operation", "timers", "ns_per_op", "ratio_to_base", "bytes_per_timer", "skipped_because"]
        return csv(
            head,
            file.operations.map { row in
                [
                    row.id, row.operation, "\(row.timers)", row.nsPerOp.map { "\($0)" },
                    row.ratioToBase.map { "\($0)" },
                    row.bytesPerTimer.map { "\($0)" }, row.skippedBecause,
                ]
            }
        )
    }

    private static func csv(_ head: [String], _ lines: [[String?]]) -> String {
        ([head] + lines).map { line in line.map { quoted($0 ?? "") }.joined(separator: ",") }.joined(separator: "\r\n")
            + "\r\n"
    }

    static func quoted(_ cell: String) -> String {
        let isPlain = !cell.contains { $0 == "," || $0 == "\"" || $0.isNewline }
        return isPlain ? cell : "\"" + cell.replacing("\"", with: "\"\"") + "\""
    }

    /// Returns a table for a README or a pull request, with the host and the command above it.
    static func markdown(_ file: ResultFile) -> String {
        var lines = file.host.lines.prefix(3).map { "* \($0.title): \(escaped($0.text))" }
        if !file.command.isEmpty {
            let command = (["bench"] + file.command.dropFirst()).joined(separator: " ")
            lines.append("* command: `\(command)`, build: \(file.build)")
        }
        for interval_ns in file.intervals_ns {
            lines += ["", "Lateness every \(timeText(interval_ns)):", ""] + latencies(file, interval_ns)
        }
        if !file.operations.isEmpty { lines += [""] + operations(file) }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func latencies(_ file: ResultFile, _ interval_ns: Int64) -> [String] {
        var lines = [
            "| | fires | early | missed | p50 | p90 | p99 | p99 of all deadlines | max | ≤ 1 µs | CPU a fire | switches a fire |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for row in file.rows where row.interval_ns == interval_ns {
            if row.fires == 0 {
                lines.append("| `\(row.id)` | not measured: \(escaped(row.skippedBecause ?? "interrupted")) |")
                continue
            }
            let times = [
                row.lateness.p50, row.lateness.p90, row.lateness.p99, row.intended?.p99, row.lateness.max,
            ]
            .map { $0.map { timeText($0) } }
            let costs = [
                "\((row.exactShare * 100).formatted(decimals: 1)) %", row.cpuPerFire_ns.map { timeText($0) },
                row.switchesPerFire?.formatted(decimals: 2),
            ]
            let cells = [row.fires.grouped, row.early.grouped, row.missed.grouped] + (times + costs).map { $0 ?? "–" }
            lines.append("| `\(row.id)` | \(cells.joined(separator: " | ")) |")
        }
        return lines
    }

    private static func operations(_ file: ResultFile) -> [String] {
        ["| operation | timers | | time | ratio |", "| --- | ---: | --- | ---: | ---: |"]
            + file.operations.map { row in
                let time = row.nsPerOp.map(operationTimeText) ?? "–",
                    ratio = row.ratioToBase?.formatted(decimals: 2) ?? "–"
                return "| \(row.operation) | \(row.timers.grouped) | `\(row.id)` | \(time) | \(ratio) |"
            }
    }

    private static func escaped(_ text: String) -> String { text.replacing("|", with: "\\|") }
}

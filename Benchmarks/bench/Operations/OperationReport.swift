// SPDX-License-Identifier: Apache-2.0
/// The result of `bench ops`: the host, then one table for each comparison.
struct OperationReport: Report {
    let session: OperationSession
    let host: HostReport
    let command: [String]

    func text(_ paint: Paint) -> String {
        let place = session.cpu.map { "queues alone on processor \($0), what has threads of its own on any" }
        let heading = [
            "",
            paint.bold("operations: what one costs, with so many timers pending"),
            "  \(session.rounds) rounds, each with every rival once in random order, seed \(session.seed)",
            "  \(place ?? "on any processor")",
            "  time: median of the rounds; ratio: median of the ratios within each round",
        ]
        let tables = session.results.flatMap { lines($0, paint) }
        return (host.lines(paint) + heading + tables + notes).joined(separator: "\n") + "\n"
    }

    var json: JSONValue {
        var operations: [JSONValue] = []
        for results in session.results {
            if case .array(let rows) = table(results).json { operations += rows }
        }
        return .result(
            command,
            seed: session.seed,
            isInterrupted: session.wasInterrupted,
            host,
            operations: .array(operations),
            ["noise_floor": .null, "rounds": JSONValue(session.rounds), "processor": JSONValue(session.cpu)]
        )
    }

    private func lines(_ results: [OperationResult], _ paint: Paint) -> [String] {
        guard let shown = results.first?.comparison else { return [] }
        var table = table(results)
        // What nobody of them has is not shown, except for the ratio.
        table.columns = table.shown.filter { column in
            column.isLeft || column.title == "ratio" || table.rows.contains { column.cell($0).value != .null }
        }
        let title = paint.bold("\(shown.operation), \(shown.timers.grouped) timers")
        return ["", title + "  " + shown.explanation] + table.lines().map { "  " + $0 }
    }

    private func table(_ results: [OperationResult]) -> Table<OperationResult> {
        let base = results.first { $0.rival.id == $0.comparison.baseID }
        return Table(
            columns: Self.times(base) + Self.counts,
            rows: results,
            remark: { $0.samples.isEmpty ? "not measured: \($0.skippedBecause ?? "interrupted")" : nil },
            note: Self.note
        )
    }

    private static func times(_ base: OperationResult?) -> [Column<OperationResult>] {
        [
            Column("", "id", isLeft: true) { .text($0.rival.id) },
            Column("", "operation") { .text($0.comparison.operation) },
            Column("", "timers") { .count($0.comparison.timers) },
            Column("time", "ns_per_op") { operationTime($0.middle(\.nsPerOp)) },
            Column("ratio", "ratio_to_base") { result in
                .number(base.flatMap { result.ratio(to: $0) }, decimals: 2)
            },
            Column("CPU", "cpu_ns_per_op") { operationTime($0.middle(\.cpuPerOp_ns)) },
            Column("longest call", "longest_call_ns") { .time($0.samples.values.compactMap(\.longestCall_ns).max()) },
            Column("p99.9 call", "poll_p999_ns") { .time($0.middle(\.pollP999_ns)) },
        ]
    }

    private static var counts: [Column<OperationResult>] {
        func number(
            _ title: String,
            _ key: String,
            _ decimals: Int,
            _ value: @escaping (OperationSample) -> Double?
        ) -> Column<OperationResult> {
            Column(title, key) { .number($0.middle(value), decimals: decimals) }
        }
        return [
            // `make instructions` counts them; the key belongs to the schema.
            Column("", "instructions_per_op") { _ in .number(nil, decimals: 0) },
            number("bytes/timer", "bytes_per_timer", 0, \.bytesPerTimer),
            number("left", "bytes_left_per_timer", 0, \.bytesLeftPerTimer),
            number("allocs/op", "allocations_per_op", 2, \.allocationsPerOp),
            number("locks/op", "locks_per_op", 2, \.locksPerOp),
            number("wakes/op", "wakes_per_op", 4, \.wakesPerOp),
            number("wake-ups/s", "wakeups_per_s", 0, \.wakeupsPerSecond),
            number("fewest/s", "greedy_wakeups_per_s", 0, \.greedyWakeupsPerSecond),
            Column("", "base") { .text($0.comparison.baseID) },
            Column("", "early") { .count($0.early) },
            Column("", "inversions") { .count($0.inversions) },
            Column("", "rounds") { .count($0.samples.count) },
            Column("", "skipped_because") { .text($0.skippedBecause) },
        ]
    }

    /// Returns what makes a number unreliable.
    private static func note(_ result: OperationResult) -> String {
        var remarks: [String] = []
        if result.early > 0 { remarks.append("\(Int(result.early).grouped) fired early") }
        if result.inversions > 0 { remarks.append("\(Int(result.inversions).grouped) fired after a later one") }
        if let reason = result.skippedBecause { remarks.append("stopped: \(reason)") }
        return remarks.joined(separator: ", ")
    }

    private var notes: [String] {
        var notes = [
            "",
            "CPU is the whole process's, allocs and locks those of the thread that operates; – means that it is not known",
        ]
        if session.results.contains(where: { $0.first?.comparison.operation == "expire" }) {
            notes.append(
                "expire: each step has two clock readings, most of the time where timers are few; libevent.timer, which "
                    + "cannot be told the time, fires all in one call"
            )
        }
        return notes + (session.wasInterrupted ? [interruptedNote] : [])
    }
}

/// Returns one decimal below 100 ns, where operations differ by less than a nanosecond.
func operationTimeText(_ time_ns: Double) -> String {
    time_ns < 99.95 ? "\(time_ns.formatted(decimals: 1)) ns" : timeText(time_ns)
}

/// Returns the cell of an operation's time.
func operationTime(_ time_ns: Double?) -> Cell { Cell(time_ns.map(operationTimeText), JSONValue(time_ns)) }

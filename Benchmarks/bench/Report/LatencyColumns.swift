// SPDX-License-Identifier: Apache-2.0
// What a table shows of a subject; also the columns of CSV, whose names are those of JSON.
extension Column where Value == ResultRow {
    /// The rows of `coloured` have a mark in their colour on a page.
    static func latencies(coloured: [ResultRow] = []) -> [Column] {
        names(coloured) + counts + percentiles + costs
            + [Column("", "skipped_because") { .text($0.skippedBecause) }]
    }

    private static func names(_ coloured: [ResultRow]) -> [Column] {
        [
            Column("subject", "id", isLeft: true) { row in
                .text(row.id, mark: coloured.firstIndex { $0.id == row.id })
            },
            Column("", "interval_ns") { .count(Int($0.interval_ns)) },
        ]
    }

    private static var counts: [Column] {
        [
            Column("fires", "n", rank: 12, meaning: "how many there were") { .count($0.fires) },
            Column("early", "early", rank: 3, meaning: "fires before their deadline") {
                .count($0.early, style: $0.early > 0 ? .red : nil)
            },
            Column("missed", "missed", rank: 7, meaning: "deadlines that passed before the timer got to them") {
                .count($0.missed)
            },
        ]
    }

    private static var percentiles: [Column] {
        [
            Column("min", "min_ns", rank: 11, meaning: "the least late") { .time($0.lateness.min) },
            Column("p50", "p50_ns", rank: 0, meaning: "half of the fires are no later") {
                .time($0.lateness.p50, within: $0.confidence?.p50_ns)
            },
            Column("p90", "p90_ns", rank: 4, meaning: "nine of ten are no later") {
                .time($0.lateness.p90, within: $0.confidence?.p90_ns)
            },
            Column("p95", "p95_ns", rank: 10, meaning: "19 of 20") { .time($0.lateness.p95) },
            Column("p99", "p99_ns", rank: 1, meaning: "99 of 100") {
                .time($0.lateness.p99, within: $0.confidence?.p99_ns)
            },
            Column("p99.9", "p999_ns", rank: 9, meaning: "999 of 1000") { .time($0.lateness.p999) },
            Column("max", "max_ns", rank: 7, meaning: "the latest") { .time($0.lateness.max) },
            Column("", "mean_ns") { .time($0.lateness.mean) },
            Column("", "sd_ns") { .time($0.lateness.sd) },
            Column("≤1µs", rank: 5, meaning: "share of the fires that are neither early nor later than that") {
                .share($0.exactShare)
            },
            Column(
                "p99 all",
                rank: 8,
                meaning:
                    "99 of 100 of all deadlines, those that had no fire of their own by the fire that they were left to"
            ) { .time($0.intended?.p99) },
        ]
    }

    private static var costs: [Column] {
        [
            Column(
                "CPU/fire",
                "cpu_ns_per_fire",
                rank: 2,
                meaning: "processor time of the whole process, from first fire to last"
            ) { .time($0.cpuPerFire_ns, within: $0.confidence?.cpuPerFire_ns) },
            Column(
                "machine",
                rank: 13,
                meaning: "what all processors spent meanwhile, interrupts too, for each fire; counted in ticks of 10 ms"
            ) { .time($0.machineCPUPerFire_ns) },
            Column(
                "switches",
                "context_switches_per_fire",
                rank: 6,
                meaning: "context switches of the whole process, for each fire"
            ) { .number($0.switchesPerFire, decimals: 2) },
            Column("", "wakeups_per_fire") { .number($0.wakeupsPerFire, decimals: 2) },
            Column("drift", "drift_ppm", rank: 12, meaning: "how fast lateness grows within a block") {
                Cell($0.drift_ppm.map { "\(($0 / 10_000).formatted(decimals: 2)) %" }, JSONValue($0.drift_ppm))
            },
        ]
    }
}

extension Table where Value == ResultRow {
    /// Returns the table of all figures.
    static func latencies(_ rows: [ResultRow], coloured: [ResultRow] = []) -> Table {
        Table(columns: Column.latencies(coloured: coloured), rows: rows, remark: \.notMeasured)
    }
}

extension ResultRow {
    /// Says why there are no figures; nil if there are some.
    fileprivate var notMeasured: String? {
        fires > 0 ? nil : "not measured: \(skippedBecause ?? "interrupted")"
    }
}

extension Table where Value == OperationRow {
    /// Returns the table of stored operations.
    static func operations(_ rows: [OperationRow]) -> Table {
        Table(
            columns: [
                Column("operation", isLeft: true) { .text($0.operation) },
                Column("timers") { .count($0.timers) },
                Column("rival", "id", isLeft: true) { .text($0.id) },
                Column("", "operation") { .text($0.operation) },
                Column("", "timers") { .count($0.timers) },
                Column("time", "ns_per_op") { Cell($0.nsPerOp.map(operationTimeText), JSONValue($0.nsPerOp)) },
                Column("ratio", "ratio_to_base") { .number($0.ratioToBase, decimals: 2) },
                Column("", "bytes_per_timer") { .number($0.bytesPerTimer, decimals: 0) },
                Column("", "skipped_because") { .text($0.skippedBecause) },
            ],
            rows: rows
        )
    }
}

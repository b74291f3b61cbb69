// SPDX-License-Identifier: Apache-2.0
import CHRTimer

/// A few blocks of a subject and of a rival, side by side.
struct Demonstration: Sendable {
    /// Nil for the subject itself.
    let rival: String?
    var interval_ns: Int64 = 1_000_000
    var fires = 200
    /// The timer slack of the measuring threads; nil for the inherited one.
    var slack_ns: UInt64?
    var rivalSlack_ns: UInt64?

    /// The figures of one of the two.
    struct Row {
        let label: String
        let lateness_ns: [Int64]
        let usage: Usage
    }

    /// Returns a table of the subject's figures and the rival's. Throws the error of what cannot run here.
    func table(_ id: String) throws -> Table<Row> {
        let (own, other) = ((id, slack_ns), (rival ?? id, rivalSlack_ns))
        // In turn, so that what else happens on the machine affects both.
        let blocks = try [own, other, own, other].map { try measure($0.0, slack_ns: $0.1) }
        let rows = [own, other].enumerated().map { number, row in
            Row(
                label: row.0 + (row.1.map { ", slack \($0) ns" } ?? ""),
                lateness_ns: (blocks[number].fires + blocks[number + 2].fires).map(\.lateness_ns).sorted(),
                usage: blocks[number].usage + blocks[number + 2].usage
            )
        }
        return Table(
            columns: [
                Column("", isLeft: true) { .text($0.label) },
                Column("p50") { .time($0.lateness_ns[($0.lateness_ns.count - 1) / 2]) },
                Column("max") { .time($0.lateness_ns.last) },
                Column("CPU/fire") { .time($0.usage.cpuPerFire_ns) },
            ],
            rows: rows
        )
    }

    private func measure(_ id: String, slack_ns: UInt64?) throws -> BlockRecorder {
        guard let subject = Subject.all.first(where: { $0.id == id }) else { throw BenchError("no subject \(id)") }
        let recorder = BlockRecorder(
            fires: max(2, fires / 2),
            interval_ns: interval_ns,
            phase_ns: 0,
            patience_ns: Int64(fires) * interval_ns
        )
        try onFreshThread {
            if let slack_ns {
                let status = hrt_thread_set_timer_slack_ns(slack_ns)
                if status != 0 { throw BenchError("timer slack cannot be set (errno \(-status))") }
            }
            try subject.measure(recorder)
        }
        return recorder
    }
}

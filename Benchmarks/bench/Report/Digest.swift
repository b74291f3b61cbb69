// SPDX-License-Identifier: Apache-2.0
/// A summary of a run for a reader without previous knowledge: how late each kind is, what it costs, and what to use.
struct Digest {
    /// A kind of timer, and the subject that represents it: the same subject in every run, even if another had better luck.
    struct Family {
        let name: String
        let row: ResultRow
    }

    let families: [Family]
    /// The subjects that are called from Swift without a C declaration, and were never early.
    private let swift: [ResultRow]
    private let file: ResultFile
    private let interval_ns: Int64

    init(_ file: ResultFile, interval_ns: Int64) {
        self.file = file
        self.interval_ns = interval_ns
        let rows = file.rows.filter { $0.interval_ns == interval_ns && $0.lateness.p50 != nil && !$0.spins }
        swift = rows.filter { row in
            let isNative = ["kernel.", "libevent.", "libuv.", "asio."].contains { row.id.hasPrefix($0) }
            return row.early == 0 && !isNative
        }
        families = Self.kinds.compactMap { name, ids in
            // The next id if --only left out the first.
            ids.lazy.compactMap { id in rows.first { $0.id == id } }.first.map { Family(name: name, row: $0) }
        }
    }

    private static let kinds: [(name: String, ids: [String])] = [
        ("Linux kernel", [Subject.referenceID, "kernel.timerfd-read"]),
        ("libevent", ["libevent.precise", "libevent.default"]),
        ("Foundation", ["foundation.timer"]),
        ("Dispatch", ["dispatch.source-strict", "dispatch.source"]),
        ("Task.sleep", ["swift.task-sleep"]),
        ("SwiftNIO", ["nio.schedule-task", "nio.schedule-callback"]),
        ("hrtimer, normal", ["hrtimer.source.normal", "hrtimer.loop-timer.normal"]),
        ("hrtimer, precise", ["hrtimer.source.precise", "hrtimer.loop-timer.precise"]),
    ]

    /// Returns at most ten lines.
    func lines(width: Int?, bold: (String) -> String) -> [String] {
        guard families.count > 1 else { return [] }
        let fires = families.map(\.row.fires).min()!
        var lines = wrapped(
            "in short: how late a timer fires every \(timeText(interval_ns)), one of each kind; half of "
                + "\(fires.grouped) fires are later than typical",
            to: width
        )
        .map(bold)
        lines += table.fitted(to: width.map { $0 - 2 }, Paint()).lines.map { "  " + $0 }
        if let advice { lines += wrapped(advice, to: width) }
        return lines
    }

    private var table: Table<Family> {
        Table(
            columns: [
                Column("", isLeft: true) { .text($0.name) },
                Column("typical", rank: 0) { .time($0.row.lateness.p50) },
                Column("1 in 100", rank: 2) { .time($0.row.lateness.p99) },
                Column("CPU a fire", rank: 1) { .time($0.row.cpuPerFire_ns) },
                Column("of a core", rank: 3) { .share($0.row.processorShare) },
                Column("subject", rank: 4) { .text($0.row.id) },
            ],
            rows: families
        )
    }

    /// The most exact and the cheapest subjects that are called from Swift, with those that noise does not distinguish from
    /// them. The kernel's calls and libevent are only for comparison.
    private var advice: String? {
        let exact = best { row in
            (Double(row.lateness.p50!), floor(row).map { Double($0.p50_ns) } ?? 0)
        }
        let thrifty = best { row in
            row.cpuPerFire_ns.map { ($0, floor(row)?.cpuPerFire_ns ?? 0) }
        }
        guard swift.count > 1, let first = exact.first, let cheapest = thrifty.first else { return nil }
        return "from Swift, most exact: \(names(exact)), \(timeText(first.lateness.p50!)) late; cheapest: "
            + "\(names(thrifty)), \(timeText(cheapest.cpuPerFire_ns!)) of processor time a fire"
    }

    private func floor(_ row: ResultRow) -> ResultFile.Floor? {
        file.floor(of: row.kind, at: interval_ns) ?? file.floor(of: .sleeping, at: interval_ns)
    }

    /// Returns the subject with the least figure, and those that exceed it by no more than the noise of either; three at
    /// most.
    private func best(_ figure: (ResultRow) -> (value: Double, noise: Double)?) -> [ResultRow] {
        let known = swift.compactMap { row in figure(row).map { (row: row, value: $0.value, noise: $0.noise) } }
            .sorted { $0.value < $1.value }
        guard let least = known.first else { return [] }
        return known.prefix { $0.value - least.value <= max($0.noise, least.noise) }.prefix(3).map(\.row)
    }

    private func names(_ rows: [ResultRow]) -> String {
        rows.map { $0.id + spelling($0) }.joined(separator: " or ")
    }

    /// Returns the name of this library's type for the subject.
    private func spelling(_ row: ResultRow) -> String {
        let types = [
            ("hrtimer.source", "TimerSource"), ("hrtimer.loop-timer", "LoopTimer"),
            ("hrtimer.display-link", "DisplayLink"),
            ("hrtimer.clock-sleep", "MonotonicClock.sleep"), ("hrtimer.executor-sleep", "TimerExecutor"),
            ("hrtimer.executors", "HRTimerExecutors"), ("hrtimer.ticks", "ticks(every:)"),
        ]
        return types.first { row.id.hasPrefix($0.0) }.map { " (\($0.1))" } ?? ""
    }
}

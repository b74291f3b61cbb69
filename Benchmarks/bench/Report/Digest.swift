/// What a reader who knows nothing wants to know of a run: who is how late, what it costs, and what to use.
struct Digest {
    /// A kind of timer, and the best of it.
    struct Family {
        let name: String
        let best: ResultRow
    }

    let families: [Family]
    /// All that is called from Swift without a C declaration, and was never early.
    private let swift: [ResultRow]
    private let file: ResultFile
    private let interval_ns: Int64

    init(_ file: ResultFile, interval_ns: Int64) {
        self.file = file
        self.interval_ns = interval_ns
        let rows = file.rows.filter { $0.interval_ns == interval_ns && $0.lateness.p50 != nil && !$0.spins }
        swift = rows.filter { $0.early == 0 && !$0.id.hasPrefix("kernel.") && !$0.id.hasPrefix("libevent.") }
        families = Self.kinds.compactMap { name, belongs in
            rows.filter { belongs($0.id) }.min { Self.isBetter($0, $1) }.map { Family(name: name, best: $0) }
        }
    }

    private static let kinds: [(name: String, belongs: @Sendable (String) -> Bool)] = [
        ("Linux kernel", { $0.hasPrefix("kernel.") }),
        ("libevent", { $0.hasPrefix("libevent.") }),
        ("Foundation", { $0.hasPrefix("foundation.") }),
        ("Dispatch", { $0.hasPrefix("dispatch.") }),
        ("Task.sleep", { $0.hasPrefix("swift.") }),
        ("SwiftNIO", { $0.hasPrefix("nio.") }),
        ("hrtimer, normal", { $0.hasPrefix("hrtimer.") && !$0.hasSuffix(".precise") }),
        ("hrtimer, precise", { $0.hasPrefix("hrtimer.") && $0.hasSuffix(".precise") }),
    ]

    /// By lateness, and where that is nearly the same by cost. What was early is worse than all that is late.
    private static func isBetter(_ one: ResultRow, _ other: ResultRow) -> Bool {
        if (one.early > 0) != (other.early > 0) { return other.early > 0 }
        let left = one.lateness.p50!, right = other.lateness.p50!
        let isClose = abs(left - right) < max(300, max(left, right) / 20)
        if isClose, let own = one.cpuPerFire_ns, let others = other.cpuPerFire_ns { return own < others }
        return left < right
    }

    /// At most ten lines.
    func lines(width: Int?, bold: (String) -> String) -> [String] {
        guard families.count > 1 else { return [] }
        let fires = families.map(\.best.fires).min()!
        var lines = wrapped(
            "in short: how late a timer fires every \(timeText(interval_ns)), the best of each kind; half of "
                + "\(fires.grouped) fires are later than typical",
            to: width
        )
        .map(bold)
        lines += table.lines(width: width.map { $0 - 2 }).lines.map { "  " + $0 }
        if let advice { lines += wrapped(advice, to: width) }
        return lines
    }

    private var table: TextTable {
        TextTable(
            nameTitle: "",
            columns: [
                .init(title: "typical", rank: 0), .init(title: "1 in 100", rank: 2),
                .init(title: "CPU a fire", rank: 1),
                .init(title: "of a core", rank: 3), .init(title: "subject", rank: 4),
            ],
            rows: families.map { family in
                let row = family.best
                return TextTable.Row(
                    name: family.name,
                    cells: [
                        row.lateness.p50.map { timeText($0) } ?? "–", row.lateness.p99.map { timeText($0) } ?? "–",
                        row.cpuPerFire_ns.map { timeText($0) } ?? "–",
                        row.processorShare.map { "\(($0 * 100).formatted(decimals: 1)) %" } ?? "–", row.id,
                    ]
                )
            }
        )
    }

    /// The most exact and the cheapest of what Swift calls: the kernel's calls and libevent's are there to compare with.
    private var advice: String? {
        guard
            swift.count > 1,
            let exact = swift.min(by: { $0.lateness.p50! < $1.lateness.p50! }),
            let thrifty = swift.filter({ $0.cpuPerFire_ns != nil }).min(by: { $0.cpuPerFire_ns! < $1.cpuPerFire_ns! })
        else { return nil }
        let first = "from Swift, most exact: \(exact.id)\(spelling(exact)), \(timeText(exact.lateness.p50!)) late"
        let cost = timeText(thrifty.cpuPerFire_ns!)
        if thrifty.id == exact.id { return "\(first), and cheapest: \(cost) of processor time a fire" }
        return "\(first); cheapest: \(thrifty.id)\(spelling(thrifty)), \(cost) of processor time a fire"
    }

    /// What a user of this library writes for it.
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

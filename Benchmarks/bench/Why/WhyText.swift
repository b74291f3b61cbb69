import HRTimer

/// The text of `bench run --why`: a line for each subject, and a column for each cause that occurred.
struct WhyText {
    let tails: [(id: String, tail: WhyTail)]
    let bound_ns: Int64?
    let lacks: String?

    private var causes: [LatenessCause] {
        LatenessCause.allCases.filter { cause in tails.contains { percent($0.tail, cause) != 0 } }
    }

    private func percent(_ tail: WhyTail, _ cause: LatenessCause) -> Int {
        Int((100 * tail.share(of: cause)).rounded())
    }

    var text: String {
        let which = bound_ns.map { "fires later than \(timeText($0))" } ?? "the latest 5 % of all fires"
        var lines = ["What made them late: \(which), in per cent of their lateness", ""]
        let causes = causes.enumerated().map { number, cause in
            Column<(id: String, tail: WhyTail)>(cause.rawValue, rank: 2 + number) {
                let percent = percent($0.tail, cause)
                return .text(percent == 0 ? "" : "\(percent)")
            }
        }
        let table = Table(
            columns: [
                Column("", isLeft: true) { .text($0.id) },
                Column("late fires", rank: 0) { .text("\($0.tail.late)") },
                Column("beyond", rank: 1) { .time($0.tail.bound_ns) },
            ] + causes,
            rows: tails,
            remark: { $0.tail.late == 0 ? "no fire was so late" : nil }
        )
        lines += table.lines()
        for (id, tail) in tails where !tail.culprits.isEmpty {
            let names = tail.culprits.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(3)
            lines.append("\(id): " + names.map { "\($0.key) (\($0.value) times)" }.joined(separator: ", "))
        }
        lines.append("")
        lines.append(
            "As far as the kernel's counts of the thread that fired tell; a first fire of a thread is unexplained."
        )
        if let lacks { lines.append("Interrupts and threads are not named: \(lacks).") }
        return lines.joined(separator: "\n") + "\n"
    }
}

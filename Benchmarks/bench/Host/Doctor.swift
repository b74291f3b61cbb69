// SPDX-License-Identifier: Apache-2.0
/// Examines the machine, and changes nothing of it.
struct Doctor: Sendable {
    let findings: [Finding]

    /// Makes all checks; they take half a second, most of it for short measurements.
    static func examine() -> Doctor {
        var machine = Machine()
        let findings = Check.quick.map { $0.finding(machine) }
        // Last, so that no other check sees their load.
        machine.measured = .now()
        return Doctor(findings: findings + Check.measured.map { $0.finding(machine) })
    }

    var isBlocked: Bool { findings.contains { $0.verdict == .bad } }

    private func count(_ verdict: Finding.Verdict) -> Int { findings.count { $0.verdict == verdict } }

    /// For a report: the number of checks, and the worst finding.
    var summary: String {
        let problems = findings.filter { $0.verdict == .bad } + findings.filter { $0.verdict == .warn }
        guard let first = problems.first else { return "\(findings.count) checks, nothing to mend" }
        let rest = problems.count == 1 ? "" : ", and \(problems.count - 1) more"
        return "\(findings.count) checks, \(first.id): \(first.value)\(rest) (bench doctor tells all)"
    }

    /// A line for each check; below those with a problem, why it matters and what to do.
    func table(tellsAll: Bool = false) -> Table<Finding> {
        Table(
            columns: [
                Column("", isLeft: true) { .text($0.verdict.rawValue, style: $0.verdict.style) },
                Column("", "id", isLeft: true) { .text($0.id) },
                Column("", "value", isLeft: true) { .text($0.value) },
                Column("", "verdict") { .text($0.verdict.rawValue) },
                Column("", "why") { .text($0.why) },
                Column("", "fix") { .text($0.fix) },
                Column("", "needs_root") { Cell("", .bool($0.needsRoot)) },
            ],
            rows: findings,
            below: { finding in
                guard tellsAll || finding.fix != nil || finding.verdict == .bad else { return [] }
                let fix = finding.fix.map { "        fix: \($0)\(finding.needsRoot ? "  (as root)" : "")" }
                return ["        why: \(finding.why)"] + (fix.map { [$0] } ?? [])
            }
        )
    }

    func report(tellsAll: Bool) -> TableReport<Finding> {
        let counts = Finding.Verdict.allCases.map { "\(count($0)) \($0.rawValue)" }.joined(separator: ", ")
        return TableReport(
            table: table(tellsAll: tellsAll),
            below: ["", "\(findings.count) checks: \(counts)", conclusion],
            key: "doctor",
            more: ["build": .string(buildName), "is_blocked": .bool(isBlocked)]
        )
    }

    private var conclusion: String {
        if isBlocked { return "What is bad makes results meaningless: mend it first." }
        if count(.warn) > 0 {
            return "Results compare subjects of one run; what is warned of makes all of them later or less even."
        }
        return "Nothing here stands in the way of exact timers."
    }
}

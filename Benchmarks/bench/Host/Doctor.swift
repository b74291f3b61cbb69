/// Examines the machine, and changes nothing of it.
struct Doctor: Sendable {
    let findings: [Finding]

    /// Runs all checks; they take half a second, most of it for short measurements.
    static func examine(_ files: SystemFiles = .live) -> Doctor {
        // First, so that the load it sees does not come from our own measurements.
        let load = LoadChecks.findings(files)
        return Doctor(
            findings: ClockChecks.findings(files) + ProcessorChecks.findings(files) + IdleChecks.findings(files)
                + RightsChecks.findings(files) + MemoryChecks.findings(files) + ContainerChecks.findings(files) + load
                + KernelChecks.findings(files) + NoiseChecks.findings(files) + BuildChecks.findings()
                + MeasuredChecks.findings(files)
        )
    }

    var isBlocked: Bool { findings.contains { $0.verdict == .bad } }

    func count(_ verdict: Finding.Verdict) -> Int {
        findings.lazy.filter { $0.verdict == verdict }.count
    }

    var json: JSONValue { .array(findings.map(\.json)) }

    /// For a report: the number of checks, and the worst finding.
    var summary: String {
        let problems = findings.filter { $0.verdict == .bad } + findings.filter { $0.verdict == .warn }
        guard let first = problems.first else { return "\(findings.count) checks, nothing to mend" }
        let rest = problems.count == 1 ? "" : ", and \(problems.count - 1) more"
        return "\(findings.count) checks, \(first.id): \(first.value)\(rest) (bench doctor tells all)"
    }

    /// Returns a line for each check; below those with a problem, why it matters and what to do.
    func text(tellsAll: Bool, _ paint: Paint) -> String {
        let table = Table<Finding>(
            columns: [
                Column("", isLeft: true) { .text($0.verdict.rawValue, style: $0.verdict.style) },
                Column("", isLeft: true) { .text($0.id) },
                Column("", isLeft: true) { .text($0.value) },
            ],
            rows: findings,
            below: { finding in
                guard tellsAll || finding.fix != nil || finding.verdict == .bad else { return [] }
                let fix = finding.fix.map { "        fix: \($0)\(finding.needsRoot ? "  (as root)" : "")" }
                return ["        why: \(finding.why)"] + (fix.map { [$0] } ?? [])
            }
        )
        let counts = Finding.Verdict.allCases.map { "\(count($0)) \($0.rawValue)" }.joined(separator: ", ")
        let end = ["", "\(findings.count) checks: \(counts)", conclusion]
        return (table.lines(paint) + end).joined(separator: "\n") + "\n"
    }

    private var conclusion: String {
        if isBlocked { return "What is bad makes results meaningless: mend it first." }
        if count(.warn) > 0 {
            return "Results compare subjects of one run; what is warned of makes all of them later or less even."
        }
        return "Nothing here stands in the way of exact timers."
    }
}

extension Finding.Verdict {
    fileprivate var style: Paint.Style? {
        switch self {
        case .ok: .green
        case .info: nil
        case .warn: .yellow
        case .bad: .red
        }
    }
}

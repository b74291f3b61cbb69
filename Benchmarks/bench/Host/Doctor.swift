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
    func text(tellsAll: Bool, isColoured: Bool) -> String {
        let width = findings.map(\.id.count).max() ?? 0
        var lines: [String] = []
        for finding in findings {
            let verdict = painted(finding.verdict, isColoured)
            lines.append("\(verdict)  \(finding.id.padded(to: width))  \(finding.value)")
            guard tellsAll || finding.fix != nil || finding.verdict == .bad else { continue }
            lines.append("        why: \(finding.why)")
            if let fix = finding.fix { lines.append("        fix: \(fix)\(finding.needsRoot ? "  (as root)" : "")") }
        }
        let counts = Finding.Verdict.allCases.map { "\(count($0)) \($0.rawValue)" }.joined(separator: ", ")
        lines.append("")
        lines.append("\(findings.count) checks: \(counts)")
        lines.append(conclusion)
        return lines.joined(separator: "\n") + "\n"
    }

    private var conclusion: String {
        if isBlocked { return "What is bad makes results meaningless: mend it first." }
        if count(.warn) > 0 {
            return "Results compare subjects of one run; what is warned of makes all of them later or less even."
        }
        return "Nothing here stands in the way of exact timers."
    }

    private func painted(_ verdict: Finding.Verdict, _ isColoured: Bool) -> String {
        let text = verdict.rawValue.padded(to: 6)
        guard isColoured else { return text }
        switch verdict {
        case .ok: return "\u{1b}[32m\(text)\u{1b}[0m"
        case .info: return text
        case .warn: return "\u{1b}[33m\(text)\u{1b}[0m"
        case .bad: return "\u{1b}[31m\(text)\u{1b}[0m"
        }
    }
}

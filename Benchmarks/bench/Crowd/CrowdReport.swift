/// The result of `bench crowd`, for people and for programs.
struct CrowdReport {
    let session: CrowdSession
    let host: HostReport
    let command: [String]

    func text(isColoured: Bool) -> String {
        let plan = session.plan
        func bold(_ text: String) -> String { isColoured ? "\u{1b}[1m\(text)\u{1b}[0m" : text }
        let facts = host.facts.map { fact in "  \(fact.title.padded(to: 16))\(fact.text)" }
        let heading =
            [
                bold("host")
            ] + facts + [
                "",
                bold("crowd: \(plan.timers.grouped) timers, each every \(timeText(plan.interval_ns)), \(phasesText)"),
                "  \(session.rounds) rounds in random order, each watched for \(timeText(session.length_ns)), seed \(session.seed)",
                "",
            ]
        return (heading + table(bold) + notes).joined(separator: "\n") + "\n"
    }

    private var phasesText: String {
        switch session.plan.phases {
        case .evenlySpread: "evenly spread"
        case .random: "in random phases"
        case .clusters(let clusters): "in \(clusters.grouped) clusters"
        }
    }

    private func table(_ bold: (String) -> String) -> [String] {
        let titles = ["tolerance", "fires/s", "CPU/fire", "user", "wakes/fire", "p50", "p99", "max", "missed", "early"]
        let width = session.results.map(\.entry.rival.id.count).max() ?? 0
        let head = "crowd".padded(to: width) + titles.map { $0.aligned(to: 11) }.joined()
        return [bold(head)]
            + session.results.map { result in
                let id = result.entry.rival.id.padded(to: width)
                let tolerance = result.entry.tolerance_ns == 0 ? "0" : timeText(result.entry.tolerance_ns)
                guard !result.samples.isEmpty else {
                    return "\(id)\(tolerance.aligned(to: 11))  not measured: \(result.skippedBecause ?? "interrupted")"
                }
                let cells = [
                    tolerance,
                    result.firesPerSecond.map { Int($0.rounded()).grouped },
                    result.cpuPerFire_ns.map { timeText($0) },
                    userShare(result),
                    result.wakeupsPerFire?.formatted(decimals: 2),
                    result.p50_ns.map { timeText($0) },
                    result.p99_ns.map { timeText($0) },
                    result.latest_ns.map { timeText($0) },
                    Int(result.missed).grouped,
                    Int(result.early).grouped,
                ]
                return id + cells.map { ($0 ?? "–").aligned(to: 11) }.joined()
            }
    }

    private func userShare(_ result: CrowdSession.Result) -> String? {
        guard let user = result.userCPUPerFire_ns, let system = result.systemCPUPerFire_ns, user + system > 0 else {
            return nil
        }
        return "\((user / (user + system) * 100).formatted(decimals: 0)) %"
    }

    private var notes: [String] {
        let asked = Double(session.plan.timers) * 1e9 / Double(session.plan.interval_ns)
        var notes = [
            "",
            "asked for: \(Int(asked.rounded()).grouped) fires a second; CPU is the whole process's, and user is its part outside "
                + "of the kernel",
            "wakes/fire: times that a thread came back from a wait; late is counted from each timer's own deadline, so a "
                + "tolerance that is used shows in p50; figures are medians of the rounds, max, missed and early are of all",
        ]
        if session.wasInterrupted { notes.append("interrupted: this is what there was until then") }
        return notes
    }

    /// Schema 1, with the results in `crowd`.
    var json: JSONValue {
        [
            "schema": .integer(1),
            "build": .string(buildName),
            "command": .array(command.map { .string($0) }),
            "seed": JSONValue(seed: session.seed),
            "interrupted": .bool(session.wasInterrupted),
            "host": .object(host.facts.map { JSONValue.Member(key: $0.key, value: $0.value) }),
            "noise_floor": .null,
            "results": .array([]),
            "operations": .array([]),
            "rounds": JSONValue(session.rounds),
            "watched_ns": JSONValue(session.length_ns),
            "crowd": .array(session.results.map(value)),
        ]
    }

    private func value(_ result: CrowdSession.Result) -> JSONValue {
        [
            "id": .string(result.entry.rival.id),
            "timers": JSONValue(session.plan.timers),
            "interval_ns": JSONValue(session.plan.interval_ns),
            "phases": .string(phasesText),
            "tolerance_ns": JSONValue(result.entry.tolerance_ns),
            "fires_per_s": JSONValue(result.firesPerSecond),
            "cpu_ns_per_fire": JSONValue(result.cpuPerFire_ns),
            "user_cpu_ns_per_fire": JSONValue(result.userCPUPerFire_ns),
            "system_cpu_ns_per_fire": JSONValue(result.systemCPUPerFire_ns),
            "wakeups_per_fire": JSONValue(result.wakeupsPerFire),
            "p50_ns": JSONValue(result.p50_ns),
            "p99_ns": JSONValue(result.p99_ns),
            "max_ns": JSONValue(result.latest_ns),
            "missed": .integer(Int64(clamping: result.missed)),
            "early": .integer(Int64(clamping: result.early)),
            "rounds": JSONValue(result.samples.count),
            "skipped_because": JSONValue(result.skippedBecause),
        ]
    }
}

// SPDX-License-Identifier: Apache-2.0
/// The result of `bench crowd`.
struct CrowdReport: Report {
    let session: CrowdSession
    let host: HostReport
    let command: [String]

    func text(_ paint: Paint) -> String {
        let plan = session.plan
        let heading = [
            "",
            paint.bold("crowd: \(plan.timers.grouped) timers, each every \(timeText(plan.interval_ns)), \(phases)"),
            "  \(session.rounds) rounds in random order, each watched for \(timeText(session.length_ns)), seed \(session.seed)",
            "",
        ]
        return (host.lines(paint) + heading + table.lines(paint) + notes).joined(separator: "\n") + "\n"
    }

    /// Schema 1, with the results in `crowd`.
    var json: JSONValue {
        .result(
            command,
            seed: session.seed,
            isInterrupted: session.wasInterrupted,
            host,
            [
                "noise_floor": .null,
                "rounds": JSONValue(session.rounds),
                "watched_ns": JSONValue(session.length_ns),
                "crowd": table.json,
            ]
        )
    }

    private var phases: String {
        switch session.plan.phases {
        case .evenlySpread: "evenly spread"
        case .random: "in random phases"
        }
    }

    private var table: Table<CrowdSession.Result> {
        Table(columns: asked + found, rows: session.results) {
            $0.samples.isEmpty ? "not measured: \($0.skippedBecause ?? "interrupted")" : nil
        }
    }

    private var asked: [Column<CrowdSession.Result>] {
        let (plan, phases) = (session.plan, phases)
        return [
            Column("crowd", "id", isLeft: true) { .text($0.entry.rival.id) },
            Column("", "timers") { _ in .count(plan.timers) },
            Column("", "interval_ns") { _ in .time(plan.interval_ns) },
            Column("", "phases") { _ in .text(phases) },
            Column("tolerance", "tolerance_ns") {
                let tolerance_ns = $0.entry.tolerance_ns
                return Cell(tolerance_ns == 0 ? "0" : timeText(tolerance_ns), JSONValue(tolerance_ns))
            },
        ]
    }

    private var found: [Column<CrowdSession.Result>] {
        [
            Column("fires/s", "fires_per_s") {
                Cell($0.firesPerSecond.map { Int($0.rounded()).grouped }, JSONValue($0.firesPerSecond))
            },
            Column("CPU/fire", "cpu_ns_per_fire") { .time($0.cpuPerFire_ns) },
            Column("user", "user_cpu_ns_per_fire") { Cell(userShare($0), JSONValue($0.userCPUPerFire_ns)) },
            Column("", "system_cpu_ns_per_fire") { .time($0.systemCPUPerFire_ns) },
            Column("wakes/fire", "wakeups_per_fire") { .number($0.wakeupsPerFire, decimals: 2) },
            Column("p50", "p50_ns") { .time($0.p50_ns) },
            Column("p99", "p99_ns") { .time($0.p99_ns) },
            Column("max", "max_ns") { .time($0.latest_ns) },
            Column("missed", "missed") { .count($0.missed) },
            Column("early", "early") { .count($0.early) },
            Column("", "rounds") { .count($0.samples.count) },
            Column("", "skipped_because") { .text($0.skippedBecause) },
        ]
    }

    private func userShare(_ result: CrowdSession.Result) -> String? {
        guard let user = result.userCPUPerFire_ns, let system = result.systemCPUPerFire_ns, user + system > 0 else {
            return nil
        }
        return "\((user / (user + system) * 100).formatted(decimals: 0)) %"
    }

    private var notes: [String] {
        let asked = Double(session.plan.timers) * 1e9 / Double(session.plan.interval_ns)
        let notes = [
            "",
            "asked for: \(Int(asked.rounded()).grouped) fires a second; CPU is the whole process's, and user is its part outside "
                + "of the kernel",
            "wakes/fire: times that a thread came back from a wait; late is counted from each timer's own deadline, so a "
                + "tolerance that is used shows in p50; figures are medians of the rounds, max, missed and early are of all",
        ]
        return notes + (session.wasInterrupted ? [interruptedNote] : [])
    }
}

// SPDX-License-Identifier: Apache-2.0
/// The result of `bench soak`.
struct SoakReport: Report {
    let session: SoakSession
    let host: HostReport
    let command: [String]

    func text(_ paint: Paint) -> String {
        let plan = session.plan
        let heading = [
            "",
            paint.bold(
                "soak: \(plan.timers.grouped) timers, \(Int(plan.rate.rounded()).grouped) fires a second asked for"
            ),
            "  each timer every \(timeText(plan.interval_ns)), in random phases, seed \(plan.seed); late is later than "
                + timeText(plan.lateBound_ns),
            "",
        ]
        let parts = [host.lines(paint), heading, faces.lines(paint), [""], summary, [paint.bold(verdict), ""]]
        return parts.joined().joined(separator: "\n")
    }

    private var faces: Table<SoakSession.FaceResult> {
        Table(
            columns: [
                Column("face", "id", isLeft: true) { .text($0.id) },
                Column("timers", "timers") { .count($0.timers) },
                Column("fires", "fires") { .count($0.fires) },
                Column("early", "early") { .count($0.early) },
                Column("lost", "lost") { .count($0.lost) },
                Column("merged", "merged") { .count($0.missed) },
                Column("late", "late") { .count($0.late) },
                Column("p50", "p50_ns") { .time($0.p50_ns) },
                Column("p99", "p99_ns") { .time($0.p99_ns) },
                Column("p99.9", "p999_ns") { .time($0.p999_ns) },
                Column("max", "max_ns") { .time($0.latest_ns) },
            ],
            rows: session.faces
        )
    }

    private var summary: [String] {
        let seconds = Double(session.took_ns) / 1e9
        let churn = session.churn
        let memory = session.looks.map(\.resident_bytes)
        let growth = session.growth_bytes.map { "\(($0 >> 10).grouped) KiB" } ?? "too short to say"
        return [
            "  \(seconds.formatted(decimals: 1)) s, \(session.fires.grouped) fires, "
                + "\(Int((Double(session.fires) / max(seconds, 0.001)).rounded()).grouped) a second, "
                + "\((Double(session.cpu_ns) / Double(max(session.took_ns, 1)) * 100).formatted(decimals: 0)) % of one processor",
            "  beside them \(churn.armed.grouped) one-shots armed: \(churn.fired.grouped) fired, \(churn.cancelled.grouped) "
                + "cancelled, \(churn.lost.grouped) lost; \(churn.moved.grouped) timeouts moved",
            "  resident memory \(((memory.min() ?? 0) >> 20).grouped) to \(((memory.max() ?? 0) >> 20).grouped) MiB, growth "
                + "from the second quarter to the last: \(growth); descriptors \(session.looks.last?.descriptors ?? 0), left "
                + "open: \(session.leakedDescriptors)",
            "  merged: deadlines left to a later fire, as the policy has it when a fire is later than the interval",
        ]
    }

    private var verdict: String {
        let failures = session.failures
        let cut = session.wasInterrupted ? " (interrupted)" : ""
        if !failures.isEmpty { return "verdict\(cut): FAILED: " + failures.joined(separator: "; ") }
        return "verdict\(cut): passed: none early, none lost, "
            + (session.isFlat == nil ? "too short to say whether memory is flat" : "memory flat")
    }

    /// Schema 1, with the results in `soak`.
    var json: JSONValue {
        .result(
            command,
            seed: session.plan.seed,
            isInterrupted: session.wasInterrupted,
            host,
            ["noise_floor": .null, "soak": soak]
        )
    }

    private var soak: JSONValue {
        let churn = session.churn
        return [
            "timers": JSONValue(session.plan.timers),
            "interval_ns": JSONValue(session.plan.interval_ns),
            "took_ns": JSONValue(session.took_ns),
            "fires": JSONValue(session.fires),
            "cpu_ns": JSONValue(session.cpu_ns),
            "late_bound_ns": JSONValue(session.plan.lateBound_ns),
            "one_shots": [
                "armed": JSONValue(churn.armed),
                "fired": JSONValue(churn.fired),
                "cancelled": JSONValue(churn.cancelled),
                "early": JSONValue(churn.early + churn.movedEarly),
                "moved": JSONValue(churn.moved),
            ],
            "memory_growth_bytes": JSONValue(session.growth_bytes),
            "descriptors_left_open": JSONValue(session.leakedDescriptors),
            "failures": .array(session.failures.map { .string($0) }),
            "faces": faces.json,
            "looks": .array(
                session.looks.map { look in
                    [
                        "since_ns": JSONValue(look.since_ns),
                        "fires": JSONValue(look.fires),
                        "resident_bytes": JSONValue(look.resident_bytes),
                        "descriptors": JSONValue(look.descriptors),
                    ]
                }
            ),
        ]
    }
}

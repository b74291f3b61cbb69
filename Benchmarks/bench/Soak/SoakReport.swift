/// The result of `bench soak`, for people and for programs.
struct SoakReport {
    let session: SoakSession
    let host: HostReport
    let command: [String]

    func text(isColoured: Bool) -> String {
        func bold(_ text: String) -> String { isColoured ? "\u{1b}[1m\(text)\u{1b}[0m" : text }
        let plan = session.plan
        let facts = host.facts.map { fact in "  \(fact.title.padded(to: 16))\(fact.text)" }
        let heading = [
            "",
            bold("soak: \(plan.timers.grouped) timers, \(Int(plan.rate.rounded()).grouped) fires a second asked for"),
            "  each timer every \(timeText(plan.interval_ns)), in random phases, seed \(plan.seed); late is later than "
                + timeText(plan.lateBound_ns),
            "",
        ]
        let parts = [[bold("host")], facts, heading, table(bold), [""], summary, [bold(verdict), ""]]
        return parts.joined().joined(separator: "\n")
    }

    private func table(_ bold: (String) -> String) -> [String] {
        let titles = ["timers", "fires", "early", "lost", "merged", "late", "p50", "p99", "p99.9", "max"]
        let widths = [11, 14, 7, 7, 9, 10, 10, 10, 10, 10]
        let width = session.faces.map(\.id.count).max() ?? 0
        func row(_ id: String, _ cells: [String]) -> String {
            id.padded(to: width) + zip(cells, widths).map { $0.aligned(to: $1) }.joined()
        }
        return [bold(row("face", titles))]
            + session.faces.map { face in
                row(
                    face.id,
                    [
                        face.timers.grouped, face.fires.grouped, face.early.grouped, face.lost.grouped,
                        face.missed.grouped, face.late.grouped, timeText(face.p50_ns), timeText(face.p99_ns),
                        timeText(face.p999_ns),
                        timeText(face.latest_ns),
                    ]
                )
            }
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
        let churn = session.churn
        return [
            "schema": .integer(1),
            "build": .string(buildName),
            "command": .array(command.map { .string($0) }),
            "seed": JSONValue(seed: session.plan.seed),
            "interrupted": .bool(session.wasInterrupted),
            "host": .object(host.facts.map { JSONValue.Member(key: $0.key, value: $0.value) }),
            "noise_floor": .null,
            "results": .array([]),
            "operations": .array([]),
            "soak": [
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
                "faces": .array(session.faces.map(value)),
                "looks": .array(session.looks.map(value)),
            ],
        ]
    }

    private func value(_ face: SoakSession.FaceResult) -> JSONValue {
        [
            "id": .string(face.id),
            "timers": JSONValue(face.timers),
            "fires": JSONValue(face.fires),
            "early": JSONValue(face.early),
            "lost": JSONValue(face.lost),
            "merged": JSONValue(face.missed),
            "late": JSONValue(face.late),
            "p50_ns": JSONValue(face.p50_ns),
            "p99_ns": JSONValue(face.p99_ns),
            "p999_ns": JSONValue(face.p999_ns),
            "max_ns": JSONValue(face.latest_ns),
        ]
    }

    private func value(_ look: SoakSession.Look) -> JSONValue {
        [
            "since_ns": JSONValue(look.since_ns),
            "fires": JSONValue(look.fires),
            "resident_bytes": JSONValue(look.resident_bytes),
            "descriptors": JSONValue(look.descriptors),
        ]
    }
}

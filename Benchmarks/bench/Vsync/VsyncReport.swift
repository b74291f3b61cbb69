import HRTimer

/// The text for people: each source in a line, the sources that were not found, and the source that links would follow.
struct VsyncText {
    let session: VsyncSession
    let host: HostReport
    let isColoured: Bool

    private static let titles: [(name: String, width: Int)] = [
        ("told", 13), ("measured", 15), ("state", 10), ("residual", 10), ("calls", 8), ("dropped", 9), ("p50", 9),
        ("p99", 9), ("max", 9), ("requests", 10), ("refused", 9), ("bogus", 7), ("missed", 8), ("restarts", 10),
    ]

    var text: String {
        let facts = [bold("host")] + host.facts.map { "  \($0.title.padded(to: 16))\($0.text)" }
        let head = "source".padded(to: 9) + Self.titles.map { $0.name.aligned(to: $0.width) }.joined()
        return (facts + ["", bold(head)] + session.results.flatMap(lines) + notes).joined(separator: "\n") + "\n"
    }

    private func time(_ time_ns: Int64?) -> String { time_ns.map { timeText($0) } ?? "–" }

    private func lines(_ result: VsyncResult) -> [String] {
        let name = result.kind.rawValue.padded(to: 9)
        guard let statistics = result.statistics else { return [name + "  not found: \(result.refusal ?? "")"] }
        let cells = [
            result.told.map { "\($0.framesPerSecond.formatted(decimals: 4)) Hz" } ?? "nothing",
            "\(result.framesPerSecond.formatted(decimals: 4)) Hz",
            result.state.rawValue,
            time(statistics.residual?.inNanoseconds),
            result.calls.grouped,
            result.dropped.grouped,
            time(result.deviation_ns(50)),
            time(result.deviation_ns(99)),
            time(result.deviations_ns.last),
            statistics.requests.grouped,
            statistics.refused.grouped,
            statistics.bogus.grouped,
            statistics.missed.grouped,
            statistics.restarts.grouped,
        ]
        return [row(name, cells)] + (result.kernel.map { [kernelLine($0)] } ?? [])
    }

    private func kernelLine(_ kernel: KernelTicks) -> String {
        let counts = [kernel.lateness_ns.count.grouped, kernel.missed.grouped]
        let times = [kernel.lateness_ns.percentile(50), kernel.lateness_ns.percentile(99), kernel.lateness_ns.last]
        return row("  kernel ", ["", "", "", ""] + counts + times.map(time))
    }

    private func row(_ name: String, _ cells: [String]) -> String {
        name + zip(Self.titles, cells).map { $1.aligned(to: $0.width) }.joined()
    }

    private var notes: [String] {
        var notes = [
            "",
            "residual: of what the source told, from the model's line, as root mean square; p50, p99, max: of the calls, from the",
            "line through the refreshes that they were for; – means too few calls. What is told is not used once it is measured.",
        ]
        if let chosen = session.chosen {
            notes.append("links without a rate follow: \(chosen.kind.rawValue)")
            notes += chosen.refusals.map { "  not \($0.kind.rawValue): \($0.reason)" }
        }
        if session.wasInterrupted { notes.append("interrupted: this is what there was until then") }
        return notes
    }

    private func bold(_ text: String) -> String { isColoured ? "\u{1b}[1m\(text)\u{1b}[0m" : text }
}

/// The result of `bench vsync` for programs: schema 1 without latencies.
struct VsyncJSON {
    let session: VsyncSession
    let host: HostReport
    let command: [String]

    var text: String { value.text() + "\n" }

    var value: JSONValue {
        [
            "schema": .integer(1),
            "build": .string(buildName),
            "command": .array(command.map { .string($0) }),
            "seed": .null,
            "interrupted": .bool(session.wasInterrupted),
            "host": .object(host.facts.map { JSONValue.Member(key: $0.key, value: $0.value) }),
            "results": .array([]),
            "operations": .array([]),
            "chosen": JSONValue(session.chosen?.kind.rawValue),
            "refusals": .array((session.chosen?.refusals ?? []).map { .string("\($0.kind.rawValue): \($0.reason)") }),
            "displays": .array(session.results.map(display)),
        ]
    }

    private func display(_ result: VsyncResult) -> JSONValue {
        guard let statistics = result.statistics else {
            return ["source": .string(result.kind.rawValue), "refused_because": JSONValue(result.refusal)]
        }
        let deviation: JSONValue = [
            "p50": JSONValue(result.deviation_ns(50)),
            "p99": JSONValue(result.deviation_ns(99)),
            "max": JSONValue(result.deviations_ns.last),
        ]
        let counts: JSONValue = [
            "calls": JSONValue(result.calls),
            "dropped": JSONValue(result.dropped),
            "requests": JSONValue(statistics.requests),
            "samples": JSONValue(statistics.samples),
            "refused": JSONValue(statistics.refused),
            "bogus": JSONValue(statistics.bogus),
            "missed": JSONValue(statistics.missed),
            "restarts": JSONValue(statistics.restarts),
            "losses": JSONValue(statistics.losses),
        ]
        return [
            "source": .string(result.kind.rawValue),
            "refused_because": .null,
            "told_hz": JSONValue(result.told?.framesPerSecond),
            // Not rounded as latencies are: ten of its digits matter.
            "measured_hz": .number(result.framesPerSecond),
            "state": .string(result.state.rawValue),
            "residual_ns": JSONValue(statistics.residual?.inNanoseconds),
            "deviation_ns": deviation,
            "counts": counts,
            "kernel": result.kernel.map(kernel) ?? .null,
        ]
    }
}

private func kernel(_ ticks: KernelTicks) -> JSONValue {
    [
        "calls": JSONValue(ticks.lateness_ns.count),
        "missed": JSONValue(ticks.missed),
        "lateness_ns": [
            "p50": JSONValue(ticks.lateness_ns.percentile(50)),
            "p99": JSONValue(ticks.lateness_ns.percentile(99)),
            "max": JSONValue(ticks.lateness_ns.last),
        ],
    ]
}

extension Duration {
    fileprivate var inNanoseconds: Int64 { Int64((self / .nanoseconds(1)).rounded()) }
}

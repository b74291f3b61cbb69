import HRTimer

/// The result of `bench vsync`: each source in a line, the sources that were not found, and the source that links would
/// follow.
struct VsyncReport: Report {
    let session: VsyncSession
    let host: HostReport
    let command: [String]

    private static let titles = [
        "source", "told", "measured", "state", "residual", "calls", "dropped", "p50", "p99", "max", "requests",
        "refused", "bogus", "missed", "restarts",
    ]

    func text(_ paint: Paint) -> String {
        let table = Table(columns: Column.texts(Self.titles), rows: session.results.flatMap(rows)) {
            $0.count == 2 ? $0[1] : nil
        }
        return (host.lines(paint) + [""] + table.lines(paint) + notes).joined(separator: "\n") + "\n"
    }

    private func time(_ time_ns: Int64?) -> String { time_ns.map { timeText($0) } ?? "–" }

    /// Returns the source's row, and one for the kernel's own lateness at the same time.
    private func rows(_ result: VsyncResult) -> [[String]] {
        guard let statistics = result.statistics else {
            return [[result.kind.rawValue, "not found: \(result.refusal ?? "")"]]
        }
        let rates = [
            result.told.map { "\($0.framesPerSecond.formatted(decimals: 4)) Hz" } ?? "nothing",
            "\(result.framesPerSecond.formatted(decimals: 4)) Hz",
        ]
        let times = [result.deviation_ns(50), result.deviation_ns(99), result.deviations_ns.last].map(time)
        let counts = [
            statistics.requests, statistics.refused, statistics.bogus, statistics.missed, statistics.restarts,
        ]
        let source =
            [result.kind.rawValue] + rates + [result.state.rawValue, time(statistics.residual?.inNanoseconds)]
            + [result.calls.grouped, result.dropped.grouped] + times + counts.map(\.grouped)
        return [source] + (result.kernel.map { [row($0)] } ?? [])
    }

    private func row(_ kernel: KernelTicks) -> [String] {
        let counts = [kernel.lateness_ns.count.grouped, kernel.missed.grouped]
        let times = [kernel.lateness_ns.percentile(50), kernel.lateness_ns.percentile(99), kernel.lateness_ns.last]
        return ["  kernel", "", "", "", ""] + counts + times.map(time)
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
        return notes + (session.wasInterrupted ? [interruptedNote] : [])
    }

    /// Schema 1, with the results in `displays`.
    var json: JSONValue {
        .result(
            command,
            seed: nil,
            isInterrupted: session.wasInterrupted,
            host,
            [
                "chosen": JSONValue(session.chosen?.kind.rawValue),
                "refusals": .array(
                    (session.chosen?.refusals ?? []).map { .string("\($0.kind.rawValue): \($0.reason)") }
                ),
                "displays": .array(session.results.map(display)),
            ]
        )
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
}

extension Duration {
    fileprivate var inNanoseconds: Int64 { Int64((self / .nanoseconds(1)).rounded()) }
}

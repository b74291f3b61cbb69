// SPDX-License-Identifier: Apache-2.0
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

    /// Returns the source's row, and one for the kernel's own lateness at the same time.
    private func rows(_ result: VsyncResult) -> [[String]] {
        guard let statistics = result.statistics else {
            return [[result.kind.rawValue, "not found: \(result.refusal ?? "")"]]
        }
        let told = result.told.map { "\($0.framesPerSecond.formatted(decimals: 4)) Hz" } ?? "nothing"
        let measured = "\(result.framesPerSecond.formatted(decimals: 4)) Hz"
        let residual = text(statistics.residual?.inNanoseconds)
        let names = [result.kind.rawValue, told, measured, result.state.rawValue, residual]
        let calls =
            [result.calls.grouped, result.dropped.grouped] + ends(result.deviations_ns).map { text($0.time_ns) }
        let counts = [
            statistics.requests, statistics.refused, statistics.bogus, statistics.missed, statistics.restarts,
        ]
        let kernel = result.kernel.map { kernel in
            ["  kernel", "", "", "", "", kernel.lateness_ns.count.grouped, kernel.missed.grouped]
                + ends(kernel.lateness_ns).map { text($0.time_ns) }
        }
        return [names + calls + counts.map(\.grouped)] + (kernel.map { [$0] } ?? [])
    }

    private func text(_ time_ns: Int64?) -> String { time_ns.map { timeText($0) } ?? "–" }

    /// What is shown of sorted times.
    private func ends(_ sorted_ns: [Int64]) -> [(key: String, time_ns: Int64?)] {
        [("p50", sorted_ns.percentile(50)), ("p99", sorted_ns.percentile(99)), ("max", sorted_ns.last)]
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
        let kernel = result.kernel.map { kernel -> JSONValue in
            [
                "calls": JSONValue(kernel.lateness_ns.count), "missed": JSONValue(kernel.missed),
                "lateness_ns": json(kernel.lateness_ns),
            ]
        }
        return [
            "source": .string(result.kind.rawValue),
            "refused_because": .null,
            "told_hz": JSONValue(result.told?.framesPerSecond),
            // Not rounded as latencies are: ten of its digits matter.
            "measured_hz": .number(result.framesPerSecond),
            "state": .string(result.state.rawValue),
            "residual_ns": JSONValue(statistics.residual?.inNanoseconds),
            "deviation_ns": json(result.deviations_ns),
            "counts": counts,
            "kernel": kernel ?? .null,
        ]
    }

    private func json(_ sorted_ns: [Int64]) -> JSONValue {
        .members(ends(sorted_ns).map { ($0.key, JSONValue($0.time_ns)) })
    }
}

extension Duration {
    fileprivate var inNanoseconds: Int64 { Int64((self / .nanoseconds(1)).rounded()) }
}

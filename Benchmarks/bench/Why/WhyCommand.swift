// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import HRTimer
import HRTimerCore

/// `bench why`: makes timers late in known ways, and checks that the explanation names each cause.
struct WhyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Makes timers late by one known cause after the other, and checks that reports name it.",
        discussion: """
            Each cause is alone, in a process of its own, until --fires fires were late. At least 95 % of their lateness must lie \
            with that cause, and all reports must add up within 2 us. What cannot be made here is said; it fails nothing.
            Exit code 1 if a check fails.
            """
    )

    @Argument(
        help:
            "Which causes: \(WhyScenario.allValueStrings.joined(separator: ", ")). By default all but the last."
    )
    var scenarios: [WhyScenario] = []

    @Option(help: "Late fires of each, 20 to 10000000; by default 200.", transform: whole(20...10_000_000))
    var fires: Int = 200

    @Flag(help: "Set this machine's wall clock 50 ms ahead, and back, once for each fire of wall-step. As root.")
    var setClock = false

    @OptionGroup var common: CommonOptions

    func run() throws {
        let outputs = try common.open()
        announceDebugBuild()
        let chosen = scenarios.isEmpty ? WhyScenario.all.filter { $0.name != "sum" } : scenarios
        let progress = common.progress
        var made: [Line] = []
        for scenario in chosen {
            progress.show(done: made.count, of: chosen.count, scenario.name)
            var outcome = WhyOutcome()
            if scenario.name == "wall-step", !setClock {
                outcome.missing = "it sets this machine's wall clock; --set-clock allows that"
            } else {
                outcome = try Self.outcome(of: scenario, fires: fires)
            }
            made.append((scenario, outcome))
        }
        progress.finish()
        try outputs.write(common.rendering(TableReport(table: table(made), key: "causes")))
        if made.contains(where: { $0.outcome.hasFailed($0.scenario) }) { throw ExitCode.failure }
    }

    private typealias Line = (scenario: WhyScenario, outcome: WhyOutcome)

    private func table(_ lines: [Line]) -> Table<Line> {
        Table(
            columns: [
                Column("", "scenario", isLeft: true) { .text($0.scenario.name) },
                Column("", isLeft: true) { .text($0.outcome.text($0.scenario)) },
                Column("", "has_failed") { Cell("", .bool($0.outcome.hasFailed($0.scenario))) },
                Column("", "late") { .count($0.outcome.late) },
                Column("", "lateness_ns") { .time($0.outcome.lateness_ns) },
                Column("", "missing") { .text($0.outcome.missing) },
            ],
            rows: lines
        )
    }

    /// Runs the scenario in a separate process, which may be stopped, throttled and pinned.
    private static func outcome(of scenario: WhyScenario, fires: Int) throws -> WhyOutcome {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        child.arguments = ["why-scenario", scenario.name, "--fires", "\(fires)"]
        let pipe = Pipe()
        child.standardOutput = pipe
        try child.run()
        let stopping = scenario.name == "stop" ? Stopping(child.processIdentifier) : nil
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        stopping?.end()
        child.waitUntilExit()
        guard child.terminationStatus == 0, let outcome = try? JSONDecoder().decode(WhyOutcome.self, from: data) else {
            throw BenchError(
                "the process of \(scenario.name) ended with \(child.terminationStatus), and without a result"
            )
        }
        return outcome
    }
}

/// Stops a process repeatedly.
private final class Stopping: Sendable {
    private let isOver = Locked(false)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ process: pid_t) {
        let thread = Thread { [self] in
            usleep(300_000)
            while !isOver.withLock({ $0 }) {
                kill(process, SIGSTOP)
                usleep(20_000)
                kill(process, SIGCONT)
                usleep(15_000)
            }
            hasEnded.signal()
        }
        thread.start()
    }

    func end() {
        isOver.withLock { $0 = true }
        hasEnded.wait()
    }
}

/// The result for one cause.
struct WhyOutcome: Codable {
    var late = 0
    var lateness_ns: Int64 = 0
    var parts_ns: [String: Int64] = [:]
    /// The number of reports whose parts do not add up, within 2 us, to the lateness that the handler saw.
    var wrong = 0
    var throttled = 0
    /// The reason why the cause could not be produced here.
    var missing: String?

    func share(_ causes: [LatenessCause]) -> Double {
        let sum_ns = causes.reduce(Int64(0)) { $0 + (parts_ns[$1.rawValue] ?? 0) }
        return lateness_ns > 0 ? Double(sum_ns) / Double(lateness_ns) : 0
    }

    func text(_ scenario: WhyScenario) -> String {
        if let missing { return "not made: \(missing)" }
        let percents = parts_ns.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\($0.key) \((100 * Double($0.value) / Double(max(1, lateness_ns))).formatted(decimals: 1)) %" }
        let verdict = hasFailed(scenario) ? "FAILED" : "ok"
        let added = wrong == 0 ? "all add up" : "\(wrong) do not add up"
        let quota = throttled > 0 ? "; \(throttled) told the quota" : ""
        return
            "\(verdict.padded(to: 7))\(late) late, \(timeText(lateness_ns)): \(percents.joined(separator: ", ")); \(added)\(quota)"
    }

    func hasFailed(_ scenario: WhyScenario) -> Bool {
        if missing != nil { return false }
        if wrong > 0 || late == 0 { return true }
        if scenario.causes.isEmpty { return share([.unexplained]) >= 0.05 }
        return share(scenario.causes) < 0.95
    }
}

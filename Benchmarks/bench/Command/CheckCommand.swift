// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// `bench check`: whether a result keeps within limits.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Holds a result against limits, for CI: counts, and ratios between subjects of the same run.",
        discussion: """
            Benchmarks/thresholds.json is an example. A limit on microseconds is not offered: on a shared machine it would \
            measure the neighbours.

            Exit codes: 0 all limits are met, 1 a file cannot be read or is of a debug build, 2 a limit is exceeded, \
            64 wrong usage.
            """
    )

    @Option(help: ArgumentHelp("The limits, JSON.", valueName: "file"))
    var thresholds: String

    @Argument(help: ArgumentHelp("The result to check, JSON.", valueName: "result.json"))
    var result: String

    @Flag(name: .customLong("allow-debug"), help: "Check a result of a debug build too.")
    var allowsDebug = false

    @OptionGroup var common: CommonOptions

    func run() throws {
        let outputs = try common.open()
        let limits = try Thresholds.read(thresholds)
        let file = try ResultFile.read(result)
        if file.build != "release", !allowsDebug {
            throw BenchError(
                "\(result) is of a \(file.build) build: measure with swift run -c release bench, or say --allow-debug"
            )
        }
        let lines = limits.check(file)
        try outputs.write(common.rendering(report(lines)))
        if lines.contains(where: { !$0.isMet }) { throw ExitCode(2) }
    }

    private func report(_ lines: [CheckLine]) -> TableReport<CheckLine> {
        let exceeded = lines.count { !$0.isMet }
        let met = "all \(lines.count) limits are met"
        return TableReport(
            table: Table(
                columns: [
                    Column("", isLeft: true) { .text($0.isMet ? "ok" : "EXCEEDED") },
                    Column("", "name", isLeft: true) { .text($0.name) },
                    Column("", "text", isLeft: true) { .text($0.text) },
                    Column("", "is_met") { Cell("", .bool($0.isMet)) },
                ],
                rows: lines
            ),
            below: [exceeded == 0 ? met : "\(exceeded) of \(lines.count) limits are exceeded"],
            key: "limits"
        )
    }
}

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

    @Flag(name: .customLong("quiet"), help: "Show only the limits that are exceeded.")
    var isQuiet = false

    @Flag(name: .customLong("allow-debug"), help: "Check a result of a debug build too.")
    var allowsDebug = false

    func run() throws {
        let limits = try Thresholds.read(thresholds)
        let file = try ResultFile.read(result)
        if file.build != "release", !allowsDebug {
            throw BenchError(
                "\(result) is of a \(file.build) build: measure with swift run -c release bench, or say --allow-debug"
            )
        }
        let lines = limits.check(file)
        let width = lines.map(\.name.count).max() ?? 0
        let exceeded = lines.filter { !$0.isMet }
        let shown = (isQuiet ? exceeded : lines).map { line in
            "\(line.isMet ? "ok      " : "EXCEEDED")  \(line.name.padded(to: width))  \(line.text)"
        }
        let end =
            exceeded.isEmpty
            ? "all \(lines.count) limits are met" : "\(exceeded.count) of \(lines.count) limits are exceeded"
        try ReportOutput.standard().write((shown + [end]).joined(separator: "\n") + "\n")
        if !exceeded.isEmpty { throw ExitCode(2) }
    }
}

import ArgumentParser

/// The options of `bench soak`.
struct SoakOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Number of armed timers, 1 to 10000000.", valueName: "n"), transform: parseTimers)
    var timers = 100_000

    @Option(
        help: ArgumentHelp("Fires a second of all together, 1 to 10000000.", valueName: "hz"),
        transform: parseTotalRate
    )
    var rate = 20_000.0

    @Option(help: "How long, 100ms to 1000h.", transform: parseDuration)
    var duration: Int64 = 3_600_000_000_000

    @Option(
        help: ArgumentHelp("From which lateness on a fire is counted as late.", valueName: "time"),
        transform: parseBound
    )
    var late: Int64 = 10_000_000

    @OptionGroup var report: ReportOptions

    var plan: SoakPlan {
        SoakPlan(
            timers: timers,
            rate: rate,
            duration_ns: duration,
            lateBound_ns: late,
            seed: report.seed ?? newSeed()
        )
    }
}

/// `bench soak`: hours of mixed load on every face.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract:
            "Fires, moves and cancels many timers of every face for a long time: none early, none lost, memory flat.",
        discussion: "Exit codes: 0 passed, 2 failed, 130 interrupted."
    )

    @OptionGroup var options: SoakOptions

    func run() throws {
        let file = try options.report.begin()
        let host = HostReport.now()
        let session = SoakSession(options.plan)
        try session.run { line in if !options.report.hidesProgress { StandardError.print("bench: \(line)") } }
        let report = SoakReport(session: session, host: host, command: CommandLine.arguments)
        try write(
            options.report.shape,
            to: file,
            text: { report.text(isColoured: $0) },
            json: { report.json.text() + "\n" }
        )
        if session.wasInterrupted { throw ExitCode(130) }
        if !session.failures.isEmpty { throw ExitCode(2) }
    }
}

/// Parses the value of `--rate` of `bench soak`.
@Sendable
func parseTotalRate(_ text: String) throws -> Double {
    guard let rate = Double(text), (1...10_000_000).contains(rate) else {
        throw ValidationError("it takes fires a second, from 1 to 10000000")
    }
    return rate
}

/// Parses the value of `--duration`.
@Sendable
func parseDuration(_ text: String) throws -> Int64 {
    guard let duration_ns = nanoseconds(text), (100_000_000...3_600_000_000_000_000).contains(duration_ns) else {
        throw ValidationError("it takes a time from 100ms to 1000h, such as 10m or 2h")
    }
    return duration_ns
}

/// Parses the value of `--late`.
@Sendable
func parseBound(_ text: String) throws -> Int64 {
    guard let bound_ns = nanoseconds(text), bound_ns > 0 else {
        throw ValidationError("it takes a time above 0, such as 500us or 10ms")
    }
    return bound_ns
}

import ArgumentParser

/// The options of `bench crowd`.
struct CrowdOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Number of timers, 1 to 10000000.", valueName: "n"), transform: parseTimers)
    var timers = 10_000

    @Option(help: ArgumentHelp("Fires a second of each timer, 0.01 to 10000.", valueName: "hz"), transform: parseRate)
    var rate = 10.0

    @Option(
        help: ArgumentHelp(
            "How their deadlines lie in the interval: even, random, or clusters:K for K groups that are due at once.",
            valueName: "phases"
        ),
        transform: parsePhases
    )
    var phases: CrowdPlan.Phases = .evenlySpread

    @Option(
        help: ArgumentHelp(
            "How much later a timer may fire, for those that take it, such as 0s or 10ms. Repeatable; by default none, and a "
                + "tenth of the interval.",
            valueName: "time"
        ),
        transform: parseTolerance
    )
    var tolerance: [Int64] = []

    @Option(help: ArgumentHelp("Measure only those whose id matches. Repeatable.", valueName: "glob"))
    var only: [String] = []

    @Option(help: "How often each gets its turn, 1 to 1000.", transform: parseBlocks)
    var rounds = 2

    @Option(help: "How long each is watched, 10ms to 1h.", transform: parseLength)
    var length: Int64 = 1_000_000_000

    @OptionGroup var report: ReportOptions

    func validate() throws {
        for pattern in only where !CrowdRival.all.contains(where: { $0.matches(pattern) }) {
            let ids = CrowdRival.all.map(\.id).joined(separator: ", ")
            throw ValidationError("--only takes one of \(ids), or a glob; '\(pattern)' matches none")
        }
    }

    var plan: CrowdPlan {
        CrowdPlan(timers: timers, interval_ns: Int64((1e9 / rate).rounded()), tolerance_ns: 0, phases: phases)
    }

    /// Rivals that support a tolerance are measured with each one, the others once.
    var entries: [CrowdSession.Entry] {
        let tolerances = tolerance.isEmpty ? [0, plan.interval_ns / 10] : tolerance
        return CrowdRival.all.filter { rival in only.isEmpty || only.contains(where: rival.matches) }.flatMap { rival in
            (rival.takesTolerance ? tolerances : [0]).map { CrowdSession.Entry(rival: rival, tolerance_ns: $0) }
        }
    }
}

/// `bench crowd`: what many timers cost a server.
struct CrowdCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crowd",
        abstract:
            "Measures many repeating timers at once: fires a second, processor time and wake-ups a fire, lateness."
    )

    @OptionGroup var options: CrowdOptions

    func run() throws {
        let file = try options.report.begin()
        let host = HostReport.now()
        let session = CrowdSession(
            options.plan,
            options.entries,
            rounds: options.rounds,
            length_ns: options.length,
            seed: options.report.seed ?? newSeed()
        )
        session.run(options.report.progress)
        let report = CrowdReport(session: session, host: host, command: CommandLine.arguments)
        try write(
            options.report.shape,
            to: file,
            text: { report.text(isColoured: $0) },
            json: { report.json.text() + "\n" }
        )
        if session.wasInterrupted { throw ExitCode(130) }
    }
}

/// Parses the value of `--rate`.
@Sendable
func parseRate(_ text: String) throws -> Double {
    guard let rate = Double(text), (0.01...10_000).contains(rate) else {
        throw ValidationError("it takes fires a second, from 0.01 to 10000")
    }
    return rate
}

/// Parses the value of `--phases`.
@Sendable
func parsePhases(_ text: String) throws -> CrowdPlan.Phases {
    if text == "even" { return .evenlySpread }
    if text == "random" { return .random }
    if text.hasPrefix("clusters:"), let clusters = Int(text.dropFirst(9)), (1...1_000_000).contains(clusters) {
        return .clusters(clusters)
    }
    throw ValidationError("it takes even, random, or clusters:K with K from 1 to 1000000")
}

/// Parses the value of `--tolerance`.
@Sendable
func parseTolerance(_ text: String) throws -> Int64 {
    guard let tolerance_ns = nanoseconds(text), tolerance_ns <= 3600 * 1_000_000_000 else {
        throw ValidationError("it takes a time from 0s to 1h, such as 10ms")
    }
    return tolerance_ns
}

/// Parses the value of `--length`.
@Sendable
func parseLength(_ text: String) throws -> Int64 {
    guard let length_ns = nanoseconds(text), (10_000_000...3600 * 1_000_000_000).contains(length_ns) else {
        throw ValidationError("it takes a time from 10ms to 1h, such as 5s")
    }
    return length_ns
}

// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The options of `bench crowd`.
struct CrowdOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Number of timers, 1 to 10000000.", valueName: "n"), transform: whole(1...10_000_000))
    var timers = 10_000

    @Option(
        help: ArgumentHelp("Fires a second of each timer, 0.01 to 10000.", valueName: "hz"),
        transform: decimal(0.01...10_000, "fires a second, from 0.01 to 10000")
    )
    var rate = 10.0

    @Option(help: "How their deadlines lie in the interval.")
    var phases: CrowdPlan.Phases = .evenlySpread

    @Option(
        help: ArgumentHelp(
            "How much later a timer may fire, for those that take it, such as 0s or 10ms. Repeatable; by default none, and a "
                + "tenth of the interval.",
            valueName: "time"
        ),
        transform: time(0...3_600_000_000_000, "from 0s to 1h, such as 10ms")
    )
    var tolerance: [Int64] = []

    @Option(help: ArgumentHelp("Measure only those whose id matches. Repeatable.", valueName: "glob"))
    var only: [String] = []

    @Option(help: "How often each gets its turn, 1 to 1000.", transform: whole(1...1000))
    var rounds = 2

    @Option(
        help: "How long each is watched, 10ms to 1h.",
        transform: time(10_000_000...3_600_000_000_000, "from 10ms to 1h, such as 5s")
    )
    var length: Int64 = 1_000_000_000

    @OptionGroup var seed: SeedOption
    @OptionGroup var common: CommonOptions

    func validate() throws {
        let ids = CrowdRival.all.map(\.id)
        try mustMatch(only, ids) {
            "--only takes one of \(ids.joined(separator: ", ")), or a glob; '\($0)' matches none"
        }
    }

    var plan: CrowdPlan {
        CrowdPlan(timers: timers, interval_ns: Int64((1e9 / rate).rounded()), tolerance_ns: 0, phases: phases)
    }

    /// Rivals that support a tolerance are measured with each one, the others once.
    var entries: [CrowdSession.Entry] {
        let tolerances = tolerance.isEmpty ? [0, plan.interval_ns / 10] : tolerance
        return CrowdRival.all.filter { $0.id.isChosen(only: only) }.flatMap { rival in
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
        let outputs = try options.common.begin()
        let host = HostReport.now()
        let session = CrowdSession(
            options.plan,
            options.entries,
            rounds: options.rounds,
            length_ns: options.length,
            seed: options.seed.value
        )
        session.run(options.common.progress)
        let report = CrowdReport(session: session, host: host, command: CommandLine.arguments)
        try outputs.write(options.common.rendering(report))
        if session.wasInterrupted { throw ExitCode(130) }
    }
}

// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The options of `bench soak`.
struct SoakOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Number of armed timers, 1 to 10000000.", valueName: "n"),
        transform: whole(1...10_000_000)
    )
    var timers = 100_000

    @Option(
        help: ArgumentHelp("Fires a second of all together, 1 to 10000000.", valueName: "hz"),
        transform: decimal(1...10_000_000, "fires a second, from 1 to 10000000")
    )
    var rate = 20_000.0

    @Option(
        help: "How long, 100ms to 1000h.",
        transform: time(100_000_000...3_600_000_000_000_000, "from 100ms to 1000h, such as 10m or 2h")
    )
    var duration: Int64 = 3_600_000_000_000

    @Option(
        help: ArgumentHelp("From which lateness on a fire is counted as late.", valueName: "time"),
        transform: time(1...Int64.max, "above 0, such as 500us or 10ms")
    )
    var late: Int64 = 10_000_000

    @OptionGroup var seed: SeedOption
    @OptionGroup var common: CommonOptions

    var plan: SoakPlan {
        SoakPlan(
            timers: timers,
            rate: rate,
            duration_ns: duration,
            lateBound_ns: late,
            seed: seed.value
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
        let outputs = try options.common.begin()
        let host = HostReport.now()
        let session = SoakSession(options.plan)
        try session.run { line in if !options.common.hidesProgress { StandardError.print("bench: \(line)") } }
        let report = SoakReport(session: session, host: host, command: CommandLine.arguments)
        try outputs.write(options.common.rendering(report))
        if session.wasInterrupted { throw ExitCode(130) }
        if !session.failures.isEmpty { throw ExitCode(2) }
    }
}

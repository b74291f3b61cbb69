import ArgumentParser

/// `bench ops`: what the operations on timers cost.
struct OpsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ops",
        abstract: "Measures what arming, cancelling, moving and firing timers cost, for queues and for whole packages."
    )

    @OptionGroup var options: OpsOptions

    func run() throws {
        let outputs = try options.report.begin()
        let host = HostReport.examined()
        let session = OperationSession(
            options.comparisons,
            rounds: options.rounds ?? options.preset.rounds,
            seed: options.report.seed ?? newSeed(),
            cpu: options.pinnedCPU
        )
        try session.run(options.report.progress)
        try write(
            options.report.shape,
            to: outputs,
            text: { OperationText(session: session, host: host, isColoured: $0).text },
            json: { OperationJSON(session: session, host: host, command: CommandLine.arguments).text }
        )
        if session.wasInterrupted { throw ExitCode(130) }
    }
}

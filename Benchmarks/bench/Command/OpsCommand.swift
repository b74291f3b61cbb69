import ArgumentParser

/// `bench ops`: the costs of operations on timers.
struct OpsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ops",
        abstract: "Measures what arming, cancelling, moving and firing timers cost, for queues and for whole packages."
    )

    @OptionGroup var options: OpsOptions

    func run() throws {
        let outputs = try options.common.begin()
        let host = HostReport.examined()
        let session = OperationSession(
            options.comparisons,
            rounds: options.rounds ?? options.preset.rounds,
            seed: options.seed.value,
            cpu: options.pinnedCPU
        )
        try session.run(options.common.progress)
        if options.instructions, !session.wasInterrupted { countInstructions(session) }
        let report = OperationReport(session: session, host: host, command: CommandLine.arguments)
        try outputs.write(options.common.rendering(report))
        if session.wasInterrupted { throw ExitCode(130) }
    }

    /// Counts instructions. The results are shown even if instructions cannot be counted.
    private func countInstructions(_ session: OperationSession) {
        do {
            let counts = try InstructionCounts()
            for comparison in session.comparisons { try counts.count(comparison) }
        } catch {
            StandardError.print("bench: instructions are not counted: \(error)")
        }
    }
}

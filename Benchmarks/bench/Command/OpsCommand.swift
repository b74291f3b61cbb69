// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation

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
        let report = OperationReport(session: session, host: host, command: CommandLine.arguments)
        try outputs.write(options.common.rendering(report))
        if session.wasInterrupted { throw ExitCode(130) }
    }
}

/// The process in which `bench ops` measures memory.
struct MemoryBlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "memory-block", shouldDisplay: false)

    @Argument var rival: String
    @Argument var timers: Int

    func run() throws {
        guard let rival = CrowdRival.all.first(where: { $0.id == rival }) else { throw BenchError("no crowd \(rival)") }
        print(try MemoryOperations.bytesPerTimer(of: rival, timers: timers))
        // Exits without ending that many timers one by one.
        fflush(nil)
        _exit(0)
    }
}

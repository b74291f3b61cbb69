import ArgumentParser
import CBench
import Glibc

/// `bench ops`: what the operations on timers cost.
struct OpsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ops",
        abstract: "Measures what arming, cancelling, moving and firing timers cost, for queues and for whole packages."
    )

    @OptionGroup var options: OpsOptions

    func run() throws {
        let file = try options.output.map { try ReportOutput.file($0) }
        announceDebugBuild()
        let status = cbench_stop_on_interrupt()
        if status != 0 { throw BenchError("Ctrl-C cannot be handled: \(String(cString: strerror(-status)))") }

        let host = HostReport.now()
        let session = OperationSession(
            options.comparisons,
            rounds: options.rounds ?? options.preset.rounds,
            seed: options.seed ?? newSeed(),
            cpu: options.pinnedCPU
        )
        try session.run(Progress(Progress.style(isHidden: options.hidesProgress)))
        try write(
            ReportShape(formats: options.format, color: options.color),
            to: file,
            text: { OperationText(session: session, host: host, isColoured: $0).text },
            json: { OperationJSON(session: session, host: host, command: CommandLine.arguments).text }
        )
        if session.wasInterrupted { throw ExitCode(130) }
    }
}

import ArgumentParser
import CBench
import Glibc

/// `bench run`: measures, and writes the results.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Measures the chosen subjects side by side (this is the default)."
    )

    @OptionGroup var options: RunOptions

    func run() throws {
        let file = try options.output.map { try ReportOutput.file($0) }
        let plan = Plan(
            subjects: options.subjects,
            interval: options.interval,
            blocks: options.blocks ?? options.preset.blocks,
            block_ns: options.preset.blockNanoseconds,
            seed: options.seed ?? newSeed()
        )
        announceDebugBuild()
        let status = cbench_stop_on_interrupt()
        if status != 0 { throw BenchError("Ctrl-C cannot be handled: \(String(cString: strerror(-status)))") }

        let progress = Progress(Progress.style(isHidden: options.hidesProgress))
        let host = HostReport.now()
        let process = try TunedProcess(options.tuning)
        for grant in process.grants { StandardError.print("bench: \(grant.text)") }
        let load = try Load(options.load)
        let session = Session(plan, process.tuning)
        session.run(progress)
        load.stop()
        try write(
            ReportShape(formats: options.format, color: options.color),
            to: file,
            text: { TextReport(session: session, host: host, isColoured: $0).text },
            json: { JSONReport(session: session, host: host, command: CommandLine.arguments).text }
        )

        if session.wasInterrupted { throw ExitCode(130) }
        let failures = options.gate ? session.gateFailures : []
        for failure in failures { StandardError.print("bench: gate: \(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
    }
}

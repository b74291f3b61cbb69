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
        let plans = options.plans
        announceDebugBuild()
        let status = cbench_stop_on_interrupt()
        if status != 0 { throw BenchError("Ctrl-C cannot be handled: \(String(cString: strerror(-status)))") }

        let host = HostReport.now()
        let process = try TunedProcess(options.tuning)
        for grant in process.grants { StandardError.print("bench: \(grant.text)") }
        let load = try Load(options.load)
        var sessions: [Session] = []
        for plan in plans where sessions.last?.wasInterrupted != true {
            let session = Session(plan, process.tuning)
            session.run(progress())
            sessions.append(session)
        }
        load.stop()
        try write(
            ReportShape(formats: options.format, color: options.color),
            to: file,
            text: { TextReport.text(of: sessions, host: host, isColoured: $0) },
            json: { JSONReport(sessions: sessions, host: host, command: CommandLine.arguments).text }
        )

        if sessions.contains(where: \.wasInterrupted) { throw ExitCode(130) }
        let failures = options.gate ? sessions.flatMap(\.gateFailures) : []
        for failure in failures { StandardError.print("bench: gate: \(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func progress() -> Progress {
        Progress(Progress.style(isHidden: options.hidesProgress))
    }
}

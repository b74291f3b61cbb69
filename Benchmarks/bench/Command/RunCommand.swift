import ArgumentParser

/// `bench run`: measures, and writes the results.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Measures the chosen subjects side by side (this is the default)."
    )

    @OptionGroup var options: RunOptions

    func run() throws {
        let file = try options.report.begin()
        let plans = options.plans
        let host = HostReport.now()
        let process = try TunedProcess(options.tuning)
        for grant in process.grants { StandardError.print("bench: \(grant.text)") }
        let load = try Load(options.load)
        var sessions: [Session] = []
        for plan in plans where sessions.last?.wasInterrupted != true {
            let session = Session(plan, process.tuning)
            session.run(options.report.progress)
            sessions.append(session)
        }
        load.stop()
        try write(
            options.report.shape,
            to: file,
            text: { TextReport.text(of: sessions, host: host, isColoured: $0) },
            json: { JSONReport(sessions: sessions, host: host, command: CommandLine.arguments).text }
        )

        if sessions.contains(where: \.wasInterrupted) { throw ExitCode(130) }
        let failures = options.gate ? sessions.flatMap(\.gateFailures) : []
        for failure in failures { StandardError.print("bench: gate: \(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
    }
}

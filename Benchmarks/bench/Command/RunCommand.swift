import ArgumentParser

/// `bench run`: measures, and writes the results.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Measures the chosen subjects side by side (this is the default)."
    )

    @OptionGroup var options: RunOptions

    func run() throws {
        let outputs = try options.report.begin()
        // Before anything is measured: a baseline that cannot be read is known at once.
        let baseline = try options.baseline.map { try ResultFile.read($0) }
        try baseline?.mustBeComparable()
        let plans = options.plans
        let host = HostReport.examined()
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
        let shape = options.report.shape
        let measured = sessions
        let rendering = Rendering(
            name: "the result",
            json: JSONReport(sessions: measured, host: host, command: CommandLine.arguments).text,
            text: { [bars = options.bars] in
                TextReport.text(of: measured, host: host, view: shape.view(isScreen: $0, bars: bars))
            }
        )
        try outputs.write(rendering)
        let comparison = try baseline.map { try Comparison(before: $0, after: rendering.file()) }
        if let comparison {
            let text = ComparisonText(comparison: comparison, isColoured: shape.isColoured(.standard())).text
            // Standard output may be a program's.
            if outputs.routing.standard == .text {
                try ReportOutput.standard().write("\n" + text)
            } else {
                StandardError.print(text)
            }
        }

        if sessions.contains(where: \.wasInterrupted) { throw ExitCode(130) }
        let failures = options.gate ? sessions.flatMap(\.gateFailures) : []
        for failure in failures { StandardError.print("bench: gate: \(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
        if let comparison, comparison.count(.slower) > 0 { throw ExitCode(2) }
    }
}

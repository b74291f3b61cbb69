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
        let spikes = try options.onSpike.map(SpikeWatch.init)
        var sessions: [Session] = []
        for plan in plans where sessions.last?.hasEndedEarly != true {
            let session = Session(plan, process.tuning, spikes: spikes)
            session.run(options.report.progress, LiveTable(isHidden: options.report.hidesProgress))
            sessions.append(session)
            tellWhatWasLeftOut(session)
        }
        spikes?.stop()
        if load.hasEnded() { StandardError.print("bench: --load \(options.load.text) ended before the run did") }
        load.stop()
        try write(
            options.report.shape,
            to: file,
            text: { TextReport.text(of: sessions, host: host, isColoured: $0) },
            json: {
                JSONReport(
                    sessions: sessions,
                    host: host,
                    command: CommandLine.arguments,
                    load: options.load
                ).text
            }
        )

        if sessions.contains(where: \.wasInterrupted) { throw ExitCode(130) }
        let failures = options.gate ? sessions.flatMap(\.gateFailures) : []
        for failure in failures { StandardError.print("bench: gate: \(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
        if sessions.contains(where: \.wasStoppedBySpike) { throw ExitCode(2) }
    }

    private func tellWhatWasLeftOut(_ session: Session) {
        if session.wasStoppedBySpike {
            let late = session.results.filter { $0.spikes > 0 }.map(\.subject.id).joined(separator: ", ")
            StandardError.print("bench: --on-spike stopped the run: \(late) fired later than the bound")
        } else if !session.wasInterrupted, session.rounds < session.plan.schedule.rounds {
            StandardError.print(
                "bench: the machine is busy: \(session.rounds) of \(session.plan.schedule.rounds) rounds in the time of "
                    + "this preset; --blocks N measures N rounds however long they take"
            )
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// `bench run`: measures, and writes the results.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Measures the chosen subjects side by side (this is the default)."
    )

    @OptionGroup var options: RunOptions

    func run() throws {
        let outputs = try options.common.begin()
        // Read before the measurement, so that a baseline that cannot be read is reported at once.
        let baseline = try options.baseline.map { try ResultFile.read(Baseline.find($0)) }
        try baseline?.mustBeComparable(work_ns: options.work)
        let plans = options.plans
        let host = HostReport.examined()
        // Started before the process is tuned: child processes would inherit the tuning.
        let load = try Load(options.load)
        let process = try TunedProcess(options.tuning)
        for grant in process.settingResults { StandardError.print("bench: \(grant.text)") }
        let isTraced = options.trace != nil
        let why = options.why || isTraced ? WhyRun(explains: options.why, isTraced: isTraced) : nil
        var sessions: [Session] = []
        for plan in plans where sessions.last?.wasInterrupted != true {
            let session = Session(plan, process.tuning, why: why)
            session.run(options.common.progress)
            sessions.append(session)
            tellWhatWasLeftOut(session)
        }
        if load.hasEnded() { StandardError.print("bench: --load \(options.load.text) ended before the run did") }
        load.stop()
        let measured = sessions
        let report = JSONReport(
            sessions: measured,
            host: host,
            command: CommandLine.arguments,
            load: options.load,
            grants: process.settingResults
        )
        let json = report.text
        if let name = options.keep { try Baseline.keep(json, as: name, commit: HostReport.commit()) }
        let rendering = Rendering(name: "the result", json: json) { [options] in
            report.text(options.common.view(isScreen: $0))
        }
        try outputs.write(rendering)
        try why?.finish(measured.flatMap(\.results), traceTo: options.trace, outputs.routing.standard == .text)
        let comparison = try baseline.map { try Comparison(before: $0, after: rendering.file()) }
        if let comparison {
            let against = baseline?.host.texts["commit"].map { "against commit \($0):\n" } ?? ""
            let text = against + comparison.report.text(options.common.paint)
            // Standard output may be read by a program.
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

    private func tellWhatWasLeftOut(_ session: Session) {
        if !session.wasInterrupted, session.rounds < session.plan.schedule.rounds {
            StandardError.print(
                "bench: the machine is busy: \(session.rounds) of \(session.plan.schedule.rounds) rounds in the time of "
                    + "this preset; --blocks N measures N rounds however long they take"
            )
        }
    }
}

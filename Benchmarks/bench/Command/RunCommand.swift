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
            // 53 bits: what any reader of JSON keeps.
            seed: options.seed ?? .random(in: 0..<1 << 53)
        )
        if buildName == "debug" {
            StandardError.print("bench: DEBUG BUILD, its numbers mean little; run: swift run -c release bench")
        }
        let status = cbench_stop_on_interrupt()
        if status != 0 { throw BenchError("Ctrl-C cannot be handled: \(String(cString: strerror(-status)))") }

        let progress = Progress(Progress.style(isHidden: options.hidesProgress))
        let host = HostReport.now()
        let session = Session(plan)
        session.run(progress)
        try report(session, host, to: file)

        if session.wasInterrupted { throw ExitCode(130) }
        let failures = options.gate ? session.gateFailures : []
        for failure in failures { StandardError.print("bench: gate: \(failure)") }
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func report(_ session: Session, _ host: HostReport, to file: ReportOutput?) throws {
        let standard = ReportOutput.standard()
        if options.formats.contains(.text) {
            // Beside JSON, the file is the JSON's.
            let output = options.formats.count == 1 ? file ?? standard : standard
            let text = TextReport(session: session, host: host, isColoured: isColoured(output))
            try output.write(text.text)
        }
        if options.formats.contains(.json) {
            let json = JSONReport(session: session, host: host, command: CommandLine.arguments)
            try (file ?? standard).write(json.text)
        }
    }

    private func isColoured(_ output: ReportOutput) -> Bool {
        switch options.color {
        case .always: true
        case .never: false
        // https://no-color.org: set and not empty.
        case .auto: output.isTerminal && (environment("NO_COLOR") ?? "").isEmpty
        }
    }
}

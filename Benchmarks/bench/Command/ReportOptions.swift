import ArgumentParser
import CBench
import Glibc

/// In which shape results are written.
enum ReportFormat: String, CaseIterable, ExpressibleByArgument {
    case text, json
}

/// When text is coloured.
enum ColorChoice: String, CaseIterable, ExpressibleByArgument {
    case auto, always, never
}

/// The options that all measurements have: how they can be repeated, and where their results go.
struct ReportOptions: ParsableArguments {
    @Option(help: "Seed of all that is random in a run, to repeat it; by default a new one.", transform: parseSeed)
    var seed: UInt64?

    @Option(help: "Shape of the results: text or json. Repeatable.")
    var format: [ReportFormat] = []

    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("Write results to this file; beside text, the JSON.", valueName: "file")
    )
    var output: String?

    @Flag(name: .customLong("no-progress"), help: "Show no progress.")
    var hidesProgress = false

    @Option(help: "Colour the text: auto, always, never.")
    var color: ColorChoice = .auto

    func validate() throws {
        if shape.formats.count > 1, output == nil {
            throw ValidationError("--format text with --format json takes -o FILE too, for the JSON")
        }
    }

    var shape: ReportShape { ReportShape(formats: format, color: color) }

    var progress: Progress { Progress(Progress.style(isHidden: hidesProgress)) }

    /// What precedes every measurement. Gives the file for the results, if there is to be one: that it cannot be written is
    /// learnt now.
    func begin() throws -> ReportOutput? {
        let file = try output.map { try ReportOutput.file($0) }
        announceDebugBuild()
        let status = cbench_stop_on_interrupt()
        if status != 0 { throw BenchError("Ctrl-C cannot be handled: \(String(cString: strerror(-status)))") }
        return file
    }
}

/// What `--seed` takes.
@Sendable
func parseSeed(_ text: String) throws -> UInt64 {
    guard let seed = UInt64(text) else { throw ValidationError("it takes a whole number from 0 to 2^64 - 1") }
    return seed
}

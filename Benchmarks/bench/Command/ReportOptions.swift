import ArgumentParser
import CBench
import Glibc

/// A format in which results are written.
enum ReportFormat: String, CaseIterable {
    case text, markdown, json, csv, hgrm, hlog, cyclictest, svg, html

    /// Returns the format that a file name's extension stands for.
    init?(path: String) {
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return nil }
        switch path[path.index(after: dot)...].lowercased() {
        case "txt": self = .text
        case "md": self = .markdown
        case let ending: self.init(rawValue: ending)
        }
    }
}

extension BarScale: ExpressibleByArgument {}

/// When text is coloured.
enum ColorChoice: String, CaseIterable, ExpressibleByArgument {
    case auto, always, never
}

/// The options of all measurements: how to repeat them, and where their results go.
struct ReportOptions: ParsableArguments {
    @Option(help: "Seed of all that is random in a run, to repeat it; by default a new one.", transform: parseSeed)
    var seed: UInt64?

    @Option(
        help: """
            Shape of the results: text, markdown, json, csv, hgrm, hlog, cyclictest, svg or html. Repeatable; all but one \
            take a file.
            """,
        transform: parseFormat
    )
    var format: [ReportFormat] = []

    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp(
            "Write results to this file too, in the shape that its name ends in; hgrm into a directory. Repeatable.",
            valueName: "file"
        )
    )
    var output: [String] = []

    @Flag(name: .customLong("no-progress"), help: "Show no progress.")
    var hidesProgress = false

    @Option(help: "Colour the text: auto, always, never.")
    var color: ColorChoice = .auto

    func validate() throws {
        _ = try Routing(formats: format, files: output)
    }

    var shape: ReportShape { ReportShape(formats: format, color: color) }

    var progress: Progress { Progress(Progress.style(isHidden: hidesProgress)) }

    /// Prepares a measurement. Opens the files for the results now, so that a file that cannot be written is reported at
    /// once.
    func begin() throws -> ReportOutputs {
        let outputs = try ReportOutputs(try Routing(formats: format, files: output))
        announceDebugBuild()
        let status = cbench_stop_on_interrupt()
        if status != 0 { throw BenchError("Ctrl-C cannot be handled: \(String(cString: strerror(-status)))") }
        return outputs
    }
}

/// Parses the value of `--seed`.
@Sendable
func parseSeed(_ text: String) throws -> UInt64 {
    guard let seed = UInt64(text) else { throw ValidationError("it takes a whole number from 0 to 2^64 - 1") }
    return seed
}

/// Parses the value of `--format`.
@Sendable
func parseFormat(_ text: String) throws -> ReportFormat {
    guard let format = ReportFormat(rawValue: text) else {
        throw ValidationError("it takes \(ReportFormat.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return format
}

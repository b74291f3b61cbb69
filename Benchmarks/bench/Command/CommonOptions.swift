// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import Glibc

/// The options of all commands: in which formats results are written, where to, and how they look.
struct CommonOptions: ParsableArguments {
    @Option(
        help: """
            Shape of the results: text, markdown, json, csv, hgrm, svg or html. Repeatable; all but one \
            take a file. Every command has text and json.
            """,
        transform: parseFormat
    )
    var format: [ReportFormat] = []

    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp(
            "Write results to this file, in the shape that its name ends in; hgrm into a directory. Repeatable.",
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

    var progress: Progress { Progress(Progress.style(isHidden: hidesProgress)) }

    /// Opens the files for the results, before there is something to write, so that a file that cannot be written is
    /// reported at once. If a command shows what is there already, a file stands for the screen.
    func open(isScreenToo: Bool = false) throws -> ReportOutputs {
        let routing = try Routing(formats: format, files: output)
        let isFileAlone = !isScreenToo && !output.isEmpty && format.isEmpty
        return try ReportOutputs(isFileAlone ? Routing(standard: nil, files: routing.files) : routing)
    }

    /// Prepares a measurement, whose results are on the screen too.
    func begin() throws -> ReportOutputs {
        let outputs = try open(isScreenToo: true)
        announceDebugBuild()
        let status = cbench_stop_on_interrupt()
        if status != 0 { throw BenchError("Ctrl-C cannot be handled: \(String(cString: strerror(-status)))") }
        return outputs
    }

    /// Colours for standard output.
    var paint: Paint {
        switch color {
        case .always: Paint(isColoured: true)
        case .never: Paint()
        // https://no-color.org: set and not empty.
        case .auto: Paint(isColoured: ReportOutput.standard().isTerminal && (environment("NO_COLOR") ?? "").isEmpty)
        }
    }

    /// Returns how text is shown on the screen, or in a file.
    func view(isScreen: Bool) -> TextView {
        guard isScreen else { return TextView(paint: Paint(isColoured: color == .always)) }
        let width = Terminal.width
        return TextView(paint: paint, width: width, endsInShort: width != nil)
    }

    /// Returns a rendering of results that have text and JSON; other formats are made from JSON if it is a result.
    func rendering(_ report: some Report) -> Rendering { rendering(report.json, report.text) }

    func rendering(_ json: JSONValue, _ text: @escaping (Paint) -> String) -> Rendering {
        Rendering(name: "the result", json: json.text() + "\n") { text(view(isScreen: $0).paint) }
    }
}

/// The option of commands in which something is random.
struct SeedOption: ParsableArguments {
    @Option(
        name: .customLong("seed"),
        help: "Seed of all that is random in a run, to repeat it; by default a new one.",
        transform: parseSeed
    )
    var chosen: UInt64?

    /// The seed, or a new one of 53 bits, which any JSON reader keeps exactly.
    var value: UInt64 { chosen ?? .random(in: 0..<1 << 53) }
}

/// Warns about a debug build, whose figures could be mistaken for the library's.
func announceDebugBuild() {
    if buildName == "debug" {
        StandardError.print("bench: DEBUG BUILD, its numbers mean little; run: swift run -c release bench")
    }
}

/// Parses the value of `--seed`.
@Sendable
func parseSeed(_ text: String) throws -> UInt64 {
    guard let seed = UInt64(text) else { throw ValidationError("it takes a whole number from 0 to 2^64 - 1") }
    return seed
}

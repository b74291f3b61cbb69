import ArgumentParser
import Foundation

/// `bench report`: a result in another format.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Shows a result again: as a page, a picture, a table, or for other tools.",
        discussion: """
            `bench report result.json -o report.html` writes one page with everything in it: curves, histograms, tables, the \
            machine, and the raw result to download. It needs no network.
            """
    )

    @Argument(help: ArgumentHelp("The result, JSON.", valueName: "result.json"))
    var result: String

    @Option(help: ArgumentHelp("Show only the subjects whose id matches. Repeatable.", valueName: "glob"))
    var only: [String] = []

    @Option(help: ArgumentHelp("Leave out the subjects whose id matches. Repeatable.", valueName: "glob"))
    var skip: [String] = []

    @Option(help: "text, markdown, json, csv, hgrm, hlog, cyclictest, svg or html. Repeatable.", transform: parseFormat)
    var format: [ReportFormat] = []

    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("Write to this file, in the shape that its name ends in. Repeatable.", valueName: "file")
    )
    var output: [String] = []

    @Flag(help: "The file is a trace, of run --trace or a flight recorder: draws it, with -o FILE.svg.")
    var trace = false

    @Option(help: "Bars of histograms in text: linear or log.")
    var bars: BarScale = .linear

    @Option(help: "Colour the text: auto, always, never.")
    var color: ColorChoice = .auto

    func validate() throws {
        _ = try routing
    }

    /// A result that is written to a file is not shown on the screen as well, unless `--format` is given.
    private var routing: Routing {
        get throws {
            let routing = try Routing(formats: format, files: output)
            return output.isEmpty || !format.isEmpty ? routing : Routing(standard: nil, files: routing.files)
        }
    }

    func run() throws {
        let data = try readFile(result)
        if trace { return try TraceDrawing.draw(data, named: result, to: output) }
        let shape = ReportShape(formats: format, color: color)
        let file = try ResultFile.parse(data, name: result).filtered(isShown)
        if file.rows.isEmpty, file.operations.isEmpty {
            let choice = only.isEmpty && skip.isEmpty ? "" : " that --only and --skip leave"
            throw BenchError("\(result) has nothing to show\(choice)")
        }
        let rendering = Rendering(
            name: result,
            json: String(decoding: data, as: UTF8.self),
            text: { [bars] in ResultText(file: file, view: shape.view(isScreen: $0, bars: bars)).text },
            isShown: isShown
        )
        try ReportOutputs(try routing).write(rendering)
    }

    private var isShown: (ResultRow) -> Bool {
        { [only, skip] row in
            (only.isEmpty || only.contains { fnmatch($0, row.id, 0) == 0 })
                && !skip.contains { fnmatch($0, row.id, 0) == 0 }
        }
    }
}

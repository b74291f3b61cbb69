// SPDX-License-Identifier: Apache-2.0
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

    @OptionGroup var common: CommonOptions

    func run() throws {
        let data = try readFile(result)
        let outputs = try common.open()
        let file = try ResultFile.parse(data, name: result).filtered(isShown)
        if file.rows.isEmpty, file.operations.isEmpty {
            let choice = only.isEmpty && skip.isEmpty ? "" : " that --only and --skip leave"
            throw BenchError("\(result) has nothing to show\(choice)")
        }
        let rendering = Rendering(
            name: result,
            json: String(decoding: data, as: UTF8.self),
            text: { [common] in ResultText(file: file, view: common.view(isScreen: $0)).text },
            isShown: isShown
        )
        try outputs.write(rendering)
    }

    private var isShown: (ResultRow) -> Bool {
        { [only, skip] row in row.id.isChosen(only: only, skip: skip) }
    }
}

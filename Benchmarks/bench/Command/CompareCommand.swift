import ArgumentParser

/// `bench compare`: what changed between two results.
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Says of each subject of two results whether it became faster, slower, is the same, or is unclear.",
        discussion: """
            Blocks of the same round are paired, and the difference is judged by a bootstrap over the pairs, against what \
            the runs differ by without any reason. Measure both with the same options and the same --seed.

            Exit codes: 0 nothing is slower, 1 a file cannot be read or the builds differ, 2 something is slower, \
            64 wrong usage.
            """
    )

    @Argument(help: ArgumentHelp("The result from before, JSON.", valueName: "before.json"))
    var before: String

    @Argument(help: ArgumentHelp("The result to judge, JSON.", valueName: "after.json"))
    var after: String

    @Option(help: "text or json.")
    var format: DoctorFormat = .text

    @Option(help: "Colour the text: auto, always, never.")
    var color: ColorChoice = .auto

    func run() throws {
        let comparison = try Comparison(before: .read(before), after: .read(after))
        let output = ReportOutput.standard()
        switch format {
        case .text:
            let isColoured = ReportShape(formats: [], color: color).isColoured(output)
            try output.write(ComparisonText(comparison: comparison, isColoured: isColoured).text)
        case .json: try output.write(comparison.json.text() + "\n")
        }
        if comparison.count(.slower) > 0 { throw ExitCode(2) }
    }
}

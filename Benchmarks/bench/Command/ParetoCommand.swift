// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// `bench pareto`: exactness against its cost.
struct ParetoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pareto",
        abstract: "Shows the share of fires within 1 µs against processor time, beside a thread with a fixed margin.",
        discussion: """
            Reads results of `bench run` that measured subjects of kernel.hybrid.slack-1.*, one file or several, as \
            `make pareto` makes them. The columns at the right say what fixed margins give for a subject's cost, and what they \
            cost for its share: linear between two margins.

            Exit codes: 0 done, 1 a file cannot be read or has no fixed margin, 64 wrong usage.
            """
    )

    @Argument(help: ArgumentHelp("Results, JSON.", valueName: "result.json"))
    var results: [String]

    @OptionGroup var common: CommonOptions

    func run() throws {
        let outputs = try common.open()
        var found: [Pareto] = []
        for name in results {
            let all = Pareto.all(try ResultFile.read(name).rows)
            for pareto in all {
                guard pareto.points.contains(where: \.isFixed) else {
                    throw BenchError(
                        "\(name) has no fixed margin every \(timeText(pareto.interval_ns)): measure '\(Pareto.fixed)*' too"
                    )
                }
            }
            found += all
        }
        let fronts = found
        var rendering = common.rendering(.array(fronts.map(\.json))) { _ in
            fronts.map { $0.text + "\n" }.joined()
        }
        rendering.picture = { ParetoChart.standalone(fronts) }
        try outputs.write(rendering)
    }
}

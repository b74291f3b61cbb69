// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// `bench pareto`: exactness against its cost.
struct ParetoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pareto",
        abstract: "Shows the share of exact fires against processor time, and the regret over the best fixed margin.",
        discussion: """
            Reads results of `bench run` that measured subjects of kernel.called.slack-1.*, one file or several, as \
            `make pareto` makes them. What a subject loses is its processor time a fire, and 500 µs for each fire that is later \
            than 5 µs, or than 1 µs. Its regret is that over the least loss of a thread with a fixed margin; 19 times of 20 it \
            lies between the two figures behind it.

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
                guard !pareto.margins.isEmpty else {
                    throw BenchError(
                        "\(name) has no fixed margin every \(timeText(pareto.interval_ns)): measure '\(Pareto.fixed)*' too"
                    )
                }
            }
            found += all
        }
        let fronts = found
        var rendering = common.rendering(.array(fronts.map(\.json))) { _ in
            fronts.map { $0.text + "\n" }.joined() + (fronts.count > 1 ? RegretSummary(fronts).text : "")
        }
        rendering.picture = { ParetoChart.standalone(fronts) }
        try outputs.write(rendering)
    }
}

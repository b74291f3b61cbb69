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
        var rendering = common.rendering(ParetoFronts(fronts: found))
        rendering.picture = { [found] in ParetoChart.standalone(found) }
        try outputs.write(rendering)
    }
}

/// What `bench pareto` shows.
private struct ParetoFronts: Report {
    let fronts: [Pareto]

    func text(_ paint: Paint) -> String { fronts.map { ParetoText(pareto: $0).text + "\n" }.joined() }

    /// The points: a subject's share and cost, and the values of fixed margins at the same cost and the same share.
    var json: JSONValue {
        .array(
            fronts.map { front in
                let points = Table<Pareto.Point>(
                    columns: [
                        Column("", "id") { .text($0.id) },
                        Column("", "within_1us_share") { .share($0.exact) },
                        Column("", "cpu_ns_per_fire") { .time($0.cpuPerFire_ns) },
                        Column("", "fixed_share_at_cost") { .share(front.exact(at: $0.cpuPerFire_ns)) },
                        Column("", "fixed_cost_at_share_ns") { .time(front.cost(at: $0.exact)) },
                    ],
                    rows: front.points
                )
                return ["interval_ns": JSONValue(front.interval_ns), "points": points.json]
            }
        )
    }
}

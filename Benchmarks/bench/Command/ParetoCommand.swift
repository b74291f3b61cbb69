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

    @Option(help: "text, json or svg.")
    var format: ParetoFormat = .text

    @Option(name: [.customShort("o"), .long], help: ArgumentHelp("Write to this file.", valueName: "file"))
    var output: String?

    func run() throws {
        let output = try self.output.map { try ReportOutput.file($0) } ?? ReportOutput.standard()
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
        switch format {
        case .text: try output.write(found.map { ParetoText(pareto: $0).text + "\n" }.joined())
        case .json: try output.write(JSONValue.array(found.map(\.json)).text() + "\n")
        case .svg: try output.write(ParetoChart.standalone(found))
        }
    }
}

/// The format in which `bench pareto` writes.
enum ParetoFormat: String, CaseIterable, ExpressibleByArgument {
    case text, json, svg
}

extension Pareto {
    /// The points as JSON: a subject's share and cost, and the values of fixed margins at the same cost and the same share.
    var json: JSONValue {
        [
            "interval_ns": JSONValue(interval_ns),
            "points": .array(
                points.map { point in
                    [
                        "id": .string(point.id), "within_1us_share": JSONValue(point.exact),
                        "cpu_ns_per_fire": JSONValue(point.cpuPerFire_ns),
                        "fixed_share_at_cost": JSONValue(exact(at: point.cpuPerFire_ns)),
                        "fixed_cost_at_share_ns": JSONValue(cost(at: point.exact)),
                    ]
                }
            ),
        ]
    }
}

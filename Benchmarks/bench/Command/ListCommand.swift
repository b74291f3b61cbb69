import ArgumentParser

/// `bench list`: the subjects and operations that can be measured.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract:
            "Lists the subjects, an id for --only and --skip and what it does; with --ops the operations of bench ops."
    )

    @Flag(name: .customLong("ops"), help: "List the operations of bench ops, and who is compared in each.")
    var listsOperations = false

    @OptionGroup var common: CommonOptions

    func run() throws {
        let outputs = try common.open()
        if listsOperations {
            try outputs.write(common.rendering(ListedOperations()))
        } else {
            try outputs.write(common.rendering(ListedSubjects()))
        }
    }
}

private struct ListedSubjects: Report {
    private var table: Table<Subject> {
        Table(
            columns: [
                Column("", "id", isLeft: true) { .text($0.id) },
                Column("", "explanation", isLeft: true) { .text($0.explanation) },
            ],
            rows: Subject.all
        )
    }

    func text(_ paint: Paint) -> String { table.lines().joined(separator: "\n") + "\n" }

    var json: JSONValue { ["schema": .integer(1), "subjects": table.json] }
}

private struct ListedOperations: Report {
    private var comparisons: [OperationComparison] {
        OpsOptions.comparisons(sizes: [MemoryOperations.fewestTimers], ownTimers: nil)
    }

    func text(_ paint: Paint) -> String {
        var lines: [String] = []
        var seen: Set<String> = []
        for comparison in comparisons {
            let extra = comparison.isExtra ? " (only when asked for)" : ""
            // Some operations have two groups of rivals.
            if seen.insert(comparison.operation).inserted {
                lines.append("\(comparison.operation)\(extra)  \(comparison.explanation)")
            }
            let rivals = comparison.rivals.map(\.id).joined(separator: ", ")
            lines += wrapped(rivals, to: 110, indent: 0).map { "    \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    var json: JSONValue {
        let operations = comparisons.map { comparison -> JSONValue in
            [
                "operation": .string(comparison.operation), "explanation": .string(comparison.explanation),
                "rivals": .array(comparison.rivals.map { .string($0.id) }),
            ]
        }
        return ["schema": .integer(1), "operations": .array(operations)]
    }
}

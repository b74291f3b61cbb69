// SPDX-License-Identifier: Apache-2.0
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
            try outputs.write(
                common.rendering(["schema": .integer(1), "operations": .array(operations)]) { _ in text }
            )
        } else {
            try outputs.write(common.rendering(TableReport(table: subjects, key: "subjects")))
        }
    }

    private var subjects: Table<Subject> {
        Table(
            columns: [
                Column("", "id", isLeft: true) { .text($0.id) },
                Column("", "explanation", isLeft: true) { .text($0.explanation) },
            ],
            rows: Subject.all
        )
    }

    private var comparisons: [OperationComparison] {
        OpsOptions.comparisons(sizes: [MemoryOperations.fewestTimers], ownTimers: nil)
    }

    private var text: String {
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

    private var operations: [JSONValue] {
        comparisons.map { comparison in
            [
                "operation": .string(comparison.operation), "explanation": .string(comparison.explanation),
                "rivals": .array(comparison.rivals.map { .string($0.id) }),
            ]
        }
    }
}

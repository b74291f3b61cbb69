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

    func run() {
        if listsOperations {
            listOperations()
        } else {
            listSubjects()
        }
    }

    private func listOperations() {
        var seen: [String] = []
        for comparison in OpsOptions.comparisons(sizes: [MemoryOperations.fewestTimers], ownTimers: nil) {
            let rivals = comparison.rivals.map(\.id).joined(separator: ", ")
            let extra = comparison.isExtra ? " (only when asked for)" : ""
            // Some operations have two groups of rivals.
            if !seen.contains(comparison.operation) {
                print("\(comparison.operation)\(extra)  \(comparison.explanation)")
            }
            seen.append(comparison.operation)
            for line in wrapped(rivals, width: 110) { print("    \(line)") }
        }
    }

    private func listSubjects() {
        let width = Subject.all.map(\.id.count).max() ?? 0
        for subject in Subject.all {
            print(subject.id.padded(to: width) + "  " + subject.explanation)
        }
    }
}

import CBench
import Foundation

/// The instructions of a queue's operation, counted by valgrind's callgrind: the same in every run. Two runs that differ
/// only in the number of operations differ by the cost of these operations; everything else in the program cancels out.
struct InstructionCounts: ~Copyable {
    private let valgrind: String
    /// A copy of this program without debug information: valgrind 3.19 fails on Swift's DWARF 5.
    private let program: URL

    /// Throws if valgrind or strip (binutils) is not installed. The copy, some megabytes, lives as long as this value.
    init() throws {
        guard let valgrind = Self.path(of: "valgrind"), let strip = Self.path(of: "strip") else {
            throw BenchError("--instructions takes valgrind and strip (binutils), and not both are installed")
        }
        let copy = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(getpid())-stripped")
        let output = try outputOfChild([strip, "-g", "-o", copy.path, try benchPath()])
        guard output.status == 0 else { throw BenchError("strip made no copy of bench: \(output.text)") }
        self.valgrind = valgrind
        program = copy
    }

    deinit { try? FileManager.default.removeItem(at: program) }

    private static func path(of tool: String) -> String? {
        let path = environment("PATH") ?? ""
        return path.split(separator: ":").map { "\($0)/\(tool)" }.first { access($0, X_OK) == 0 }
    }

    /// Workloads that do not determine the number of operations themselves.
    static let workloads: [String: cbench_ops_workload] = [
        "arm-cancel": CBENCH_OPS_ARM_CANCEL,
        "arm-cancel-equal": CBENCH_OPS_ARM_CANCEL_EQUAL,
        "arm-cancel-running": CBENCH_OPS_ARM_CANCEL_RUNNING,
        "re-arm": CBENCH_OPS_RE_ARM_LATER,
        "next-deadline": CBENCH_OPS_NEXT_DEADLINE,
        "pass": CBENCH_OPS_PASS,
    ]

    private static let operations: UInt64 = 20_000

    /// Counts all results of a comparison that can be counted, at small sizes.
    func count(_ comparison: ComparisonResult) throws {
        let shown = comparison.comparison
        guard Self.workloads[shown.operation] != nil, shown.timers <= 10_000 else { return }
        for result in comparison.results where !result.samples.isEmpty && Self.rival(result.id) != nil {
            let once = try total(shown.operation, result.id, shown.timers, Self.operations)
            let twice = try total(shown.operation, result.id, shown.timers, 2 * Self.operations)
            result.instructionsPerOp = Double(twice - once) / Double(Self.operations)
        }
    }

    /// Returns the instructions of a whole child process that runs so many operations.
    func total(_ operation: String, _ id: String, _ timers: Int, _ operations: UInt64) throws -> Int {
        let output = try outputOfChild([
            valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", program.path, "ops-block", operation, id,
            "\(timers)", "\(operations)",
        ])
        guard output.status == 0, let total = Self.collected(output.text) else {
            let reason = output.text.split(separator: "\n").last ?? "it printed nothing"
            throw BenchError("valgrind could not count \(operation) of \(id): status \(output.status), \(reason)")
        }
        return total
    }

    /// Parses callgrind's line "==123== Collected : 456".
    static func collected(_ text: String) -> Int? {
        for line in text.split(separator: "\n") where line.contains("Collected :") {
            return line.split(separator: " ").last.flatMap { Int($0) }
        }
        return nil
    }

    /// Returns the queue of that id, nil for packages: they have operations of the same names, but valgrind would count
    /// their threads too.
    private static func rival(_ id: String) -> cbench_ops_rival? {
        let rivals = (0..<CBENCH_OPS_RIVALS.rawValue).map { cbench_ops_rival(rawValue: $0) }
        return rivals.first { String(cString: cbench_ops_rival_id($0)) == id }
    }

    /// The work of the child process.
    static func operate(_ operation: String, _ id: String, timers: Int, operations: UInt64) throws {
        guard let workload = workloads[operation] else { throw BenchError("no operation \(operation) to count") }
        guard let rival = rival(id) else { throw BenchError("no queue \(id)") }
        var result = cbench_ops_result()
        let status = cbench_ops_run_exactly(workload, rival, timers, 1, operations, &result)
        if status != 0 { throw BenchError(String(cString: strerror(-status))) }
    }
}

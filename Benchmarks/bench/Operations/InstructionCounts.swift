import CBench
import Foundation

/// Instructions of an operation of the queues, as valgrind's callgrind counts them: the same in every run. Two runs that differ
/// in the number of operations alone differ by theirs; what the program does besides drops out.
enum InstructionCounts {
    /// Nil where valgrind is not installed.
    static var valgrind: String? {
        let path = environment("PATH") ?? ""
        return path.split(separator: ":").map { "\($0)/valgrind" }.first { access($0, X_OK) == 0 }
    }

    /// Workloads that have a number of operations of their own.
    static let workloads: [String: cbench_ops_workload] = [
        "arm-cancel": CBENCH_OPS_ARM_CANCEL,
        "arm-cancel-equal": CBENCH_OPS_ARM_CANCEL_EQUAL,
        "arm-cancel-running": CBENCH_OPS_ARM_CANCEL_RUNNING,
        "re-arm": CBENCH_OPS_RE_ARM_LATER,
        "next-deadline": CBENCH_OPS_NEXT_DEADLINE,
        "pass": CBENCH_OPS_PASS,
    ]

    private static let operations: UInt64 = 20_000

    /// Counts for all results of a comparison that can be counted, at small sizes.
    static func count(_ comparison: ComparisonResult, with valgrind: String) throws {
        let shown = comparison.comparison
        guard workloads[shown.operation] != nil, shown.timers <= 10_000 else { return }
        for result in comparison.results where !result.samples.isEmpty {
            let once = try total(valgrind, shown.operation, result.id, shown.timers, operations)
            let twice = try total(valgrind, shown.operation, result.id, shown.timers, 2 * operations)
            result.instructionsPerOp = Double(twice - once) / Double(operations)
        }
    }

    private static func total(
        _ valgrind: String,
        _ operation: String,
        _ id: String,
        _ timers: Int,
        _ operations: UInt64
    ) throws -> Int {
        let output = try outputOfChild([
            valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", try benchPath(), "ops-block", operation, id,
            "\(timers)", "\(operations)",
        ])
        guard output.status == 0, let total = collected(output.text) else {
            throw BenchError("valgrind could not count \(operation) of \(id): status \(output.status)")
        }
        return total
    }

    /// From callgrind's "==123== Collected : 456".
    static func collected(_ text: String) -> Int? {
        for line in text.split(separator: "\n") where line.contains("Collected :") {
            return line.split(separator: " ").last.flatMap { Int($0) }
        }
        return nil
    }

    /// What the child does.
    static func operate(_ operation: String, _ id: String, timers: Int, operations: UInt64) throws {
        guard let workload = workloads[operation] else { throw BenchError("no operation \(operation) to count") }
        let rivals = (0..<CBENCH_OPS_RIVALS.rawValue).map { cbench_ops_rival(rawValue: $0) }
        guard let rival = rivals.first(where: { String(cString: cbench_ops_rival_id($0)) == id }) else {
            throw BenchError("no queue \(id)")
        }
        var result = cbench_ops_result()
        let status = cbench_ops_run_exactly(workload, rival, timers, 1, operations, &result)
        if status != 0 { throw BenchError(String(cString: strerror(-status))) }
    }
}

/// The result of `bench ops` for programs: schema 1 without latencies.
struct OperationJSON {
    let session: OperationSession
    let host: HostReport
    let command: [String]

    var text: String { value.text() + "\n" }

    var value: JSONValue {
        [
            "schema": .integer(1),
            "build": .string(buildName),
            "command": .array(command.map { .string($0) }),
            "seed": JSONValue(seed: session.seed),
            "interrupted": .bool(session.wasInterrupted),
            "host": host.json,
            "noise_floor": .null,
            "rounds": JSONValue(session.rounds),
            "processor": JSONValue(session.cpu),
            "results": .array([]),
            "operations": .array(
                session.comparisons.flatMap { comparison in
                    comparison.results.map { operation(comparison, $0) }
                }
            ),
        ]
    }

    private func operation(_ comparison: ComparisonResult, _ result: OperationResult) -> JSONValue {
        [
            "id": .string(result.id),
            "operation": .string(comparison.comparison.operation),
            "timers": JSONValue(comparison.comparison.timers),
            "ns_per_op": JSONValue(result.nsPerOp),
            "instructions_per_op": JSONValue(result.instructionsPerOp),
            "poll_p999_ns": JSONValue(result.pollP999_ns),
            "bytes_per_timer": JSONValue(result.bytesPerTimer),
            "bytes_left_per_timer": JSONValue(result.bytesLeftPerTimer),
            "base": .string(comparison.comparison.baseID),
            "ratio_to_base": JSONValue(comparison.ratio(result)),
            "cpu_ns_per_op": JSONValue(result.cpuPerOp_ns),
            "longest_call_ns": JSONValue(result.longestCall_ns),
            "allocations_per_op": JSONValue(result.allocationsPerOp),
            "locks_per_op": JSONValue(result.locksPerOp),
            "wakeups_per_s": JSONValue(result.wakeupsPerSecond),
            "greedy_wakeups_per_s": JSONValue(result.greedyWakeupsPerSecond),
            "wakes_per_op": JSONValue(result.wakesPerOp),
            "early": .integer(Int64(clamping: result.early)),
            "inversions": .integer(Int64(clamping: result.inversions)),
            "rounds": JSONValue(result.samples.count),
            "skipped_because": JSONValue(result.skippedBecause),
        ]
    }
}

// SPDX-License-Identifier: Apache-2.0
import CBench

/// The memory of a pending timer: resident bytes, measured in a separate process, which has no freed memory to use again.
/// The kernel's memory for the timer is not included.
enum MemoryOperations {
    /// With fewer timers, the pools that the first timer fills would dominate.
    static let fewestTimers = 10_000

    static func comparison(timers: Int) -> OperationComparison {
        OperationComparison(
            operation: "memory",
            explanation:
                "resident memory of a pending timer with a small handler, in a process of its own; ratio of memory",
            timers: timers,
            baseID: "hrtimer.engine.normal",
            // Measuring all rivals takes minutes.
            isExtra: true,
            rivals: CrowdRival.all.map { rival in
                OperationRival(id: rival.id) { _ in try measureInChild(rival.id, timers) }
            }
        )
    }

    private static func measureInChild(_ id: String, _ timers: Int) throws -> OperationSample {
        // The reason of a failure is on standard error.
        let output = try outputOfChild([try benchPath(), "memory-block", id, "\(timers)"])
        let last = output.text.split(separator: "\n").last.map { String($0) }
        guard output.status == 0, let bytes = Double(last ?? "") else {
            throw BenchError(last ?? "the child ended with \(output.status)")
        }
        return OperationSample(bytesPerTimer: bytes)
    }

    /// Arms the timers in this process, an hour ahead.
    static func bytesPerTimer(of rival: CrowdRival, timers: Int) throws -> Double {
        let crowd = try rival.make()
        let fleet = try Fleet(
            Array(repeating: CrowdTimer(first_ns: cbench_now_ns() + 3_600_000_000_000), count: timers)
        )
        let before_bytes = cbench_resident_bytes()
        try crowd.arm(fleet)
        // Tasks go to sleep on other threads.
        crowd.run(until: cbench_now_ns() + 200_000_000)
        let after_bytes = cbench_resident_bytes()
        return withExtendedLifetime((crowd, fleet)) { Double(max(0, after_bytes - before_bytes)) / Double(timers) }
    }
}

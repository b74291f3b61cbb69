import CBench
import HRTimer

/// Crowds of sleeping tasks.
enum SleeperOperations {
    static func cancelAll(timers: Int) -> OperationComparison {
        TaskOperations.comparison(
            "cancel-sleepers",
            "so many tasks are started, sleep for an hour, and are cancelled and ended; bytes: resident at the peak, and after it",
            timers: timers,
            base: "hrtimer.clock-sleep",
            [
                TaskOperations.rival("hrtimer.clock-sleep") {
                    await cancelled(timers) { try await TaskOperations.sleepOurs(for: .seconds(3600)) }
                },
                TaskOperations.rival("swift.task-sleep") {
                    await cancelled(timers) { try await Task.sleep(for: .seconds(3600)) }
                },
            ]
        )
    }

    private static func cancelled(
        _ timers: Int,
        _ sleep: @escaping @Sendable () async throws -> Void
    ) async -> OperationSample {
        cbench_give_back_memory()
        let idle = cbench_resident_bytes()
        let before = cbench_usage_now()
        let start_ns = cbench_now_ns()
        var peak = idle
        // No task group: its work per child grows with the number of children.
        var tasks = (0..<timers).map { _ in Task.detached { try? await sleep() } }
        peak = cbench_resident_bytes()
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.value }
        tasks = []
        let took_ns = cbench_now_ns() - start_ns
        let cpu_ns = cbench_usage_now().process_cpu_ns - before.process_cpu_ns
        cbench_give_back_memory()
        return OperationSample(
            nsPerOp: Double(took_ns) / Double(timers),
            cpuPerOp_ns: Double(cpu_ns) / Double(timers),
            bytesPerTimer: Double(max(0, peak - idle)) / Double(timers),
            bytesLeftPerTimer: Double(max(0, cbench_resident_bytes() - idle)) / Double(timers)
        )
    }

    static func expireAll(timers: Int) -> OperationComparison {
        TaskOperations.comparison(
            "expire-sleepers",
            "so many tasks sleep at once, and wake evenly spread over one second; processor time of each, its start included",
            timers: timers,
            base: "hrtimer.clock-sleep",
            [
                TaskOperations.rival("hrtimer.clock-sleep") {
                    await expired(timers) { try await MonotonicClock().sleep(for: $0) }
                },
                TaskOperations.rival("hrtimer.clock-sleep.zero-tolerance") {
                    await expired(timers) { try await MonotonicClock().sleep(for: $0, tolerance: .zero) }
                },
                TaskOperations.rival("swift.task-sleep") { await expired(timers) { try await Task.sleep(for: $0) } },
            ]
        )
    }

    private static func expired(
        _ timers: Int,
        _ sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async -> OperationSample {
        let before = cbench_usage_now()
        let tasks = (0..<timers).map { index in
            // From half a second on: most of the tasks have started by then.
            let delay = Duration.nanoseconds(500_000_000 + Int64(index) * 1_000_000_000 / Int64(timers))
            return Task.detached { try? await sleep(delay) }
        }
        for task in tasks { _ = await task.value }
        let cpu_ns = cbench_usage_now().process_cpu_ns - before.process_cpu_ns
        return OperationSample(nsPerOp: nil, cpuPerOp_ns: Double(cpu_ns) / Double(timers))
    }
}

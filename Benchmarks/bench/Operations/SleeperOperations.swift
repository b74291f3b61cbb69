// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimer

/// Crowds of sleeping tasks.
enum SleeperOperations {
    static func cancelAll(timers: Int) -> OperationComparison {
        OperationComparison(
            operation: "cancel-sleepers",
            explanation:
                "so many tasks are started, sleep for an hour, and are cancelled and ended; bytes: resident at the peak, and after it",
            timers: timers,
            baseID: "hrtimer.clock-sleep",
            rivals: [
                .inTask("hrtimer.clock-sleep") {
                    await cancelled(timers) { try await TaskOperations.sleepOurs(for: .seconds(3600)) }
                },
                .inTask("swift.task-sleep") {
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
        let idle_bytes = cbench_resident_bytes()
        let meter = OperationMeter()
        // No task group: its work per child grows with the number of children.
        var tasks = (0..<timers).map { _ in Task.detached { try? await sleep() } }
        let peak_bytes = cbench_resident_bytes()
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.value }
        tasks = []
        var sample = meter.sample(of: timers)
        cbench_give_back_memory()
        sample.bytesPerTimer = Double(max(0, peak_bytes - idle_bytes)) / Double(timers)
        sample.bytesLeftPerTimer = Double(max(0, cbench_resident_bytes() - idle_bytes)) / Double(timers)
        return sample
    }

    static func expireAll(timers: Int) -> OperationComparison {
        OperationComparison(
            operation: "expire-sleepers",
            explanation:
                "so many tasks sleep at once, and wake evenly spread over one second; processor time of each, its start included",
            timers: timers,
            baseID: "hrtimer.clock-sleep",
            rivals: [
                .inTask("hrtimer.clock-sleep") { await expired(timers) { try await MonotonicClock().sleep(for: $0) } },
                .inTask("hrtimer.clock-sleep.zero-tolerance") {
                    await expired(timers) { try await MonotonicClock().sleep(for: $0, tolerance: .zero) }
                },
                .inTask("swift.task-sleep") { await expired(timers) { try await Task.sleep(for: $0) } },
            ]
        )
    }

    private static func expired(
        _ timers: Int,
        _ sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async -> OperationSample {
        let meter = OperationMeter()
        let tasks = (0..<timers).map { index in
            // From half a second on: most of the tasks have started by then.
            let delay = Duration.nanoseconds(500_000_000 + Int64(index) * 1_000_000_000 / Int64(timers))
            return Task.detached { try? await sleep(delay) }
        }
        for task in tasks { _ = await task.value }
        var sample = meter.sample(of: timers)
        sample.nsPerOp = nil
        return sample
    }
}

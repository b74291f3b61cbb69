// SPDX-License-Identifier: Apache-2.0
import CBench
import Dispatch
import HRTimer
import Synchronization

/// Uses of timers by tasks: sleeps, timeouts and idle timeouts, compared with those of the standard library and Dispatch.
enum TaskOperations {
    static func comparisons(ownTimers: Int?) -> [OperationComparison] {
        [
            sleepCancel,
            timeout("timeout-unused", "an operation that suspends once, and is done long before its timeout of 5 s") {
                await Task.yield()
            },
            timeout("timeout-unsuspended", "an operation that does not suspend, with a timeout of 5 s") {},
            idle,
            SleeperOperations.cancelAll(timers: ownTimers ?? 100_000),
            SleeperOperations.expireAll(timers: ownTimers ?? 100_000),
        ]
    }

    /// Repeats the operation for a tenth of a second, after a tenth of that for warming up.
    static func repeated(
        atMost count: Int = 100_000,
        _ operation: (_ index: Int) async throws -> Void
    ) async rethrows -> OperationSample {
        let limit_ns: Int64 = 100_000_000
        let warm_ns = cbench_now_ns() + limit_ns / 10
        var index = 0
        while index < count / 10, cbench_now_ns() < warm_ns {
            try await operation(index)
            index += 1
        }
        let first = index
        let meter = OperationMeter()
        let end_ns = cbench_now_ns() + limit_ns
        repeat {
            for _ in 0..<16 {
                try await operation(index)
                index += 1
            }
        } while index - first < count && cbench_now_ns() < end_ns
        return meter.sample(of: index - first)
    }

    static func sleepOurs(for duration: Duration) async throws {
        try await MonotonicClock().sleep(until: .now.advanced(by: duration))
    }

    private static func cancelAsyncAfter() {
        let item = DispatchWorkItem {}
        DispatchQueue.global().asyncAfter(deadline: .now() + 3600, execute: item)
        item.cancel()
    }
}

// Sleeps that are cancelled.
extension TaskOperations {
    private static var sleepCancel: OperationComparison {
        OperationComparison(
            operation: "sleep-cancel",
            explanation: "start a task that sleeps for an hour, cancel it when it sleeps, and wait for its end",
            baseID: "hrtimer.clock-sleep",
            rivals: [
                .inTask("hrtimer.clock-sleep") { await cancelled { try await sleepOurs(for: .seconds(3600)) } },
                .inTask("swift.task-sleep") { await cancelled { try await Task.sleep(for: .seconds(3600)) } },
                // Without a task: the cost of a callback.
                .inTask("hrtimer.engine") {
                    await repeated { _ in
                        TimerEngine.shared.cancel(TimerEngine.shared.schedule(after: .seconds(3600)) { _ in })
                    }
                },
                .inTask("dispatch.async-after") { await repeated { _ in cancelAsyncAfter() } },
            ]
        )
    }

    /// Cancels a batch of tasks at a time, so that most of them sleep when they are cancelled.
    private static func cancelled(_ sleep: @escaping @Sendable () async throws -> Void) async -> OperationSample {
        let batch = 64
        var sample = await repeated(atMost: 1600) { _ in
            let begun = Begun()
            let tasks = (0..<batch).map { _ in
                Task.detached {
                    begun.count.add(1, ordering: .relaxed)
                    try? await sleep()
                }
            }
            while begun.count.load(ordering: .relaxed) < batch { await Task.yield() }
            for task in tasks { task.cancel() }
            for task in tasks { await task.value }
        }
        sample.nsPerOp = sample.nsPerOp.map { $0 / Double(batch) }
        sample.cpuPerOp_ns = sample.cpuPerOp_ns.map { $0 / Double(batch) }
        return sample
    }

    private final class Begun: Sendable {
        let count = Atomic(0)
    }
}

// Timeouts that are not used: their cost for an operation that ends in time.
extension TaskOperations {
    private static func timeout(
        _ name: String,
        _ explanation: String,
        _ operation: @escaping @Sendable () async -> Void
    ) -> OperationComparison {
        let rivals: [OperationRival] = [
            .inTask("hrtimer.with-timeout") {
                try await repeated { _ in try await withTimeout(.seconds(5), operation: operation) }
            },
            .inTask("swift.race") { try await repeated { _ in try await race(operation) } },
            .inTask("swift.task-sleep") {
                await repeated { _ in
                    let watch = Task.detached { try? await Task.sleep(for: .seconds(5)) }
                    await operation()
                    watch.cancel()
                }
            },
            .inTask("dispatch.async-after") {
                await repeated { _ in
                    await operation()
                    cancelAsyncAfter()
                }
            },
            .inTask("none") { await repeated { _ in await operation() } },
        ]
        return OperationComparison(
            operation: name,
            explanation: explanation,
            baseID: rivals[0].id,
            rivals: rivals
        )
    }

    /// The usual implementation: the operation and a sleep in two child tasks, of which the first to end counts.
    private static func race(_ operation: @escaping @Sendable () async -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await operation() }
            group.addTask {
                try await Task.sleep(for: .seconds(5))
                throw CancellationError()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static var idle: OperationComparison {
        OperationComparison(
            operation: "idle-touch",
            explanation: "a request has come: the connection's idle timeout of 30 s begins anew",
            baseID: "hrtimer.idle-timeout",
            rivals: [
                .inTask("hrtimer.idle-timeout") {
                    let idle = IdleTimeout(.seconds(30)) {}
                    defer { idle.cancel() }
                    return await repeated(atMost: 1_000_000) { _ in idle.touch() }
                },
                .inTask("hrtimer.source") {
                    let source = TimerSource()
                    source.setEventHandler {}
                    source.schedule(after: .seconds(30))
                    source.activate()
                    defer { source.cancel() }
                    return await repeated(atMost: 1_000_000) { _ in source.schedule(after: .seconds(30)) }
                },
                .inTask("dispatch.source") {
                    let source = DispatchSource.makeTimerSource(queue: .global())
                    source.setEventHandler {}
                    source.schedule(deadline: .now() + 30)
                    source.activate()
                    defer { source.cancel() }
                    return await repeated { _ in source.schedule(deadline: .now() + 30) }
                },
                .inTask("swift.task-sleep") {
                    var watch = Task.detached { try? await Task.sleep(for: .seconds(30)) }
                    defer { watch.cancel() }
                    return await repeated { _ in
                        watch.cancel()
                        watch = Task.detached { try? await Task.sleep(for: .seconds(30)) }
                    }
                },
            ]
        )
    }
}

import CBench
import Dispatch
import HRTimer
import Synchronization

/// Uses of timers by tasks: sleeps, timeouts and idle timeouts, compared with those of the standard library and Dispatch.
enum TaskOperations {
    static func comparisons(ownTimers: Int?) -> [OperationComparison] {
        [
            comparison(
                "sleep-cancel",
                "start a task that sleeps for an hour, cancel it when it sleeps, and wait for its end",
                base: "hrtimer.clock-sleep",
                [
                    rival("hrtimer.clock-sleep") { try await cancelled { try await sleepOurs(for: .seconds(3600)) } },
                    rival("swift.task-sleep") { try await cancelled { try await Task.sleep(for: .seconds(3600)) } },
                    rival("hrtimer.engine") { await repeated { _ in cancelOnEngine() } },
                    rival("dispatch.async-after") { await repeated { _ in cancelAsyncAfter() } },
                ]
            ),
            TimeoutOperations.unused,
            TimeoutOperations.unsuspended,
            idle,
            SleeperOperations.cancelAll(timers: ownTimers ?? 100_000),
            SleeperOperations.expireAll(timers: ownTimers ?? 100_000),
        ]
    }

    static func comparison(
        _ operation: String,
        _ explanation: String,
        timers: Int = 1,
        base: String,
        isExtra: Bool = false,
        _ rivals: [OperationRival]
    ) -> OperationComparison {
        OperationComparison(
            operation: operation,
            explanation: explanation,
            timers: timers,
            baseID: base,
            isPinned: false,
            isExtra: isExtra,
            rivals: rivals
        )
    }

    /// Returns a rival whose round runs in a detached task on the pool, like ordinary tasks.
    static func rival(
        _ id: String,
        _ body: @escaping @Sendable () async throws -> OperationSample
    ) -> OperationRival {
        OperationRival(id) { _ in
            let done = DispatchSemaphore(value: 0)
            let outcome = Locked<Result<OperationSample, any Error>?>(nil)
            Task.detached {
                let result: Result<OperationSample, any Error>
                do { result = .success(try await body()) } catch { result = .failure(error) }
                outcome.withLock { $0 = result }
                done.signal()
            }
            done.wait()
            return try outcome.withLock { $0 }!.get()
        }
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
        let before = cbench_usage_now()
        let start_ns = cbench_now_ns()
        var now_ns = start_ns
        repeat {
            for _ in 0..<16 {
                try await operation(index)
                index += 1
            }
            now_ns = cbench_now_ns()
        } while index - first < count && now_ns < start_ns + limit_ns
        let after = cbench_usage_now()
        let operations = Double(index - first)
        return OperationSample(
            nsPerOp: Double(now_ns - start_ns) / operations,
            cpuPerOp_ns: Double(after.process_cpu_ns - before.process_cpu_ns) / operations
        )
    }

    static func sleepOurs(for duration: Duration) async throws {
        try await MonotonicClock().sleep(until: .now.advanced(by: duration))
    }

    /// Cancels a batch of tasks at a time, so that most of them sleep when they are cancelled.
    private static func cancelled(_ sleep: @escaping @Sendable () async throws -> Void) async throws -> OperationSample
    {
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

    /// Without a task: the cost of a callback.
    private static func cancelOnEngine() {
        TimerEngine.shared.cancel(TimerEngine.shared.schedule(after: .seconds(3600)) { _ in })
    }

    static func cancelAsyncAfter() {
        let item = DispatchWorkItem {}
        DispatchQueue.global().asyncAfter(deadline: .now() + 3600, execute: item)
        item.cancel()
    }

    private static let idle = comparison(
        "idle-touch",
        "a request has come: the connection's idle timeout of 30 s begins anew",
        base: "hrtimer.idle-timeout",
        [
            rival("hrtimer.idle-timeout") {
                let idle = IdleTimeout(.seconds(30)) {}
                defer { idle.cancel() }
                return await repeated(atMost: 1_000_000) { _ in idle.touch() }
            },
            rival("hrtimer.source") {
                let source = TimerSource()
                source.setEventHandler {}
                source.schedule(after: .seconds(30))
                source.activate()
                defer { source.cancel() }
                return await repeated(atMost: 1_000_000) { _ in source.schedule(after: .seconds(30)) }
            },
            rival("dispatch.source") {
                let source = DispatchSource.makeTimerSource(queue: .global())
                source.setEventHandler {}
                source.schedule(deadline: .now() + 30)
                source.activate()
                defer { source.cancel() }
                return await repeated { _ in source.schedule(deadline: .now() + 30) }
            },
            rival("swift.task-sleep") {
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

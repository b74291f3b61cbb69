// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import Synchronization
import TestSupport
import TestTraits
import Testing

/// Tests of how often a waiting task comes to its executor. A task that changes executors on its way comes once more for each
/// wait.
@Suite("A wait costs its executor one turn at most", .hangLimit)
struct ExecutorTurnsTests {
    enum Wait: CaseIterable {
        case sleep, bootSleep, ticks, bootTicks
    }

    let time = ManualTime()

    /// Returns a function that waits ten times, a millisecond each.
    private func waiting(for wait: Wait) throws -> Waiting {
        let interval = Duration.milliseconds(1)
        let clock = MonotonicClock(engine: try TimerEngine(.init(time: time.base)))
        let boot = BootTimeClock(engine: try BootTimeTimerEngine(.init(time: time.base)))
        switch wait {
        case .sleep: return { for _ in 0..<10 { try? await clock.sleep(until: clock.now + interval) } }
        case .bootSleep: return { for _ in 0..<10 { try? await boot.sleep(until: boot.now + interval) } }
        case .ticks: return { await Self.iterate(over: clock.ticks(every: interval)) }
        case .bootTicks: return { await Self.iterate(over: boot.ticks(every: interval)) }
        }
    }

    private static func iterate<Instant: TimerInstant>(
        over ticks: TimerTicks<Instant>,
        isolation: isolated (any Actor)? = #isolation
    ) async {
        var left = 10
        for await _ in ticks {
            left -= 1
            if left == 0 { break }
        }
    }

    /// Advances the time to each deadline once the task waits for it: a task that comes too late to sleep yields instead, and
    /// `Task.yield()` costs two turns of an executor that a task prefers.
    private func run(_ task: Task<Void, Never>) async {
        let isDone = Recorder<Void>()
        Task {
            await task.value
            isDone.append(())
        }
        while isDone.count == 0 {
            if let next = time.nextDeadline { time.advance(to: next) }
            await Task.yield()
        }
    }

    // Fewer if the deadline comes before the task has suspended.
    @Test("for a task that prefers an executor", arguments: Wait.allCases)
    func onTask(_ wait: Wait) async throws {
        let (executor, waits) = (CountingTaskExecutor(), try waiting(for: wait))
        await run(Task(executorPreference: executor) { await waits() })
        #expect(executor.jobs <= 1 + 10)
    }

    @Test("for an actor with an executor", arguments: Wait.allCases)
    func onActor(_ wait: Wait) async throws {
        let (worker, waits) = (Worker(), try waiting(for: wait))
        await run(Task { await worker.run(waits) })
        #expect(worker.executor.jobs <= 1 + 10)
    }
}

/// A function that does not leave its caller's actor by itself.
private typealias Waiting = nonisolated(nonsending) @Sendable () async -> Void

private final class CountingTaskExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "counting")
    private let count = Atomic(0)

    var jobs: Int { count.load(ordering: .relaxed) }

    func enqueue(_ job: consuming ExecutorJob) {
        count.wrappingAdd(1, ordering: .relaxed)
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

private final class CountingSerialExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "counting")
    private let count = Atomic(0)

    var jobs: Int { count.load(ordering: .relaxed) }

    func enqueue(_ job: consuming ExecutorJob) {
        count.wrappingAdd(1, ordering: .relaxed)
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

private actor Worker {
    nonisolated let executor = CountingSerialExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run(_ waits: Waiting) async { await waits() }
}

// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// Sleeping tasks, which this thread runs too.
enum SleepOperations {
    static let all = [
        // A batch of tasks sleeps, again and again, to the same deadlines.
        CountedOperation("MonotonicClock", "sleep") { world in
            let executor = DrainedExecutor()
            let engine = try world.makeEngine()
            let clock = MonotonicClock(engine: engine)
            let deadlines = stride(from: 0, to: CountedOperation.most, by: FrozenWorld.batch).map(world.batchDeadline)
            for _ in 0..<FrozenWorld.batch {
                _ = Task(executorPreference: executor) {
                    for deadline in deadlines { try await clock.sleep(until: deadline) }
                }
            }
            executor.drain()
            return { count in
                for deadline in deadlines.prefix(count / FrozenWorld.batch) {
                    world.advance(to: deadline)
                    executor.drain()
                }
                world.check(engine.statistics, fires: count)
            }
        },
        // A cancelled task ends.
        CountedOperation("MonotonicClock", "cancel") { world in
            let executor = DrainedExecutor()
            let engine = try world.makeEngine()
            let clock = MonotonicClock(engine: engine)
            let tasks = world.deadlines().map { deadline in
                Task(executorPreference: executor) { try await clock.sleep(until: deadline) }
            }
            executor.drain()
            return { count in
                for index in 0..<count { tasks[index].cancel() }
                executor.drain()
                precondition(engine.liveTimers == CountedOperation.most - count)
            }
        },
    ]
}

// SPDX-License-Identifier: Apache-2.0
import DeadlineModel
import Glibc
import HRTimer

/// Cancelled sleeps in task groups and `async let`, optimized and across modules. In such shapes an optimizer has freed a
/// task's memory in the wrong order ("freed pointer was not the last allocation", swiftlang/swift#87481). The program comes to
/// its end, or it crashes. Takes the number of rounds, 10^6 by default.
///
/// Shapes with `async let` run on one thread, that of a `TimerExecutor`, and are cancelled from others. On two threads Swift's
/// own runtime crashes in one of 10^7 rounds, without any sleep too: see `make async-let-fault`.
@main
struct Program {
    static func main() async throws {
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
        let precise = try TimerEngine(.init(name: "races", precision: .precise))
        let clocks = [MonotonicClock(), MonotonicClock(engine: .shared), MonotonicClock(engine: precise)]
        let lets = try TimerEngine(.init(name: "async-lets"))
        let executor = TimerExecutor(engine: lets)
        let workers = 4
        try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    var ended = 0
                    for round in 0..<rounds / workers {
                        // The precise clock spins, and the others would wait for that.
                        let clock = (round + worker).isMultiple(of: 16) ? 2 : (round / 8) % 2
                        try await race(round, on: clocks[clock], executor)
                        ended += 1
                    }
                    return ended
                }
            }
            var ended = 0
            for try await share in group { ended += share }
            print("\(ended) rounds")
        }
        try await runDeadlines(rounds / 10, clocks)
        // An executor's call of its jobs is among an engine's timers until it begins, even if there is no job any more.
        let patience = ContinuousClock.now.advanced(by: .seconds(10))
        let engines = [TimerEngine.shared, precise, lets]
        while engines.contains(where: { $0.liveTimers > 0 }) {
            guard ContinuousClock.now < patience else {
                print("timers are left: \(engines.map(\.liveTimers))")
                exit(1)
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Runs random operations with deadlines. The program's second argument is the first seed.
    private static func runDeadlines(_ rounds: Int, _ clocks: [MonotonicClock]) async throws {
        let first = CommandLine.arguments.dropFirst(2).first.flatMap { UInt64($0) } ?? .random(in: 0..<1_000_000_000)
        print("deadlines from seed \(first) on")
        let workers = 4
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    let model = DeadlineModel(clocks[worker % 2], isExact: false) { duration in
                        let end = MonotonicInstant.now + duration
                        while MonotonicInstant.now < end {}
                    }
                    for round in 0..<rounds / workers {
                        try await model.run(seed: first + UInt64(round * workers + worker))
                    }
                }
            }
            try await group.waitForAll()
        }
        print("\(rounds) operations with deadlines")
    }

    private static func race(_ round: Int, on clock: MonotonicClock, _ executor: TimerExecutor) async throws {
        switch round % 8 {
        case 0: await inGroup(clock)
        case 1: try await inThrowingGroup(clock)
        case 2: await cancelled(executor) { await asyncLet(clock) }
        case 3: await withTaskExecutorPreference(executor) { await asyncLetUnawaited(clock) }
        case 4: await atItsDeadline(clock, round)
        case 5: await cancelled(executor) { await nested(clock) }
        case 6: await withTaskExecutorPreference(executor) { await withinTimeout(clock) }
        default: await ticking(clock)
        }
    }

    /// Runs `body` on the executor, and cancels it from this thread, wherever the executor's thread is in it.
    private static func cancelled(_ executor: TimerExecutor, _ body: @escaping @Sendable () async -> Void) async {
        let task = Task.detached(executorPreference: executor) { await body() }
        await Task.yield()
        task.cancel()
        await task.value
    }

    private static func inGroup(_ clock: MonotonicClock) async {
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<3 { group.addTask { await wasCancelled(clock, .seconds(3600)) } }
            group.addTask { false }
            _ = await group.next()
            group.cancelAll()
        }
    }

    private static func inThrowingGroup(_ clock: MonotonicClock) async throws {
        let winner = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { 1 }
            group.addTask {
                try await clock.sleep(for: .seconds(3600))
                return 2
            }
            defer { group.cancelAll() }
            return try await group.next()
        }
        precondition(winner == 1)
    }

    private static func asyncLet(_ clock: MonotonicClock) async {
        async let one: Void? = try? clock.sleep(for: .seconds(3600))
        async let other: Void? = try? clock.sleep(until: .now.advanced(by: .seconds(7200)), tolerance: .seconds(1))
        _ = await (one, other)
    }

    /// The end of the scope cancels the `async let`.
    private static func asyncLetUnawaited(_ clock: MonotonicClock) async {
        async let _ = try clock.sleep(for: .seconds(3600))
        async let value = 3
        let three = await value
        precondition(three == 3)
    }

    private static func atItsDeadline(_ clock: MonotonicClock, _ round: Int) async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await wasCancelled(clock, .microseconds(round % 50)) }
            for _ in 0..<round % 5 { await Task.yield() }
            group.cancelAll()
        }
    }

    private static func nested(_ clock: MonotonicClock) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                async let inner: Void = withTaskGroup(of: Void.self) { inner in
                    inner.addTask { _ = await wasCancelled(clock, .seconds(3600)) }
                    await inner.waitForAll()
                }
                await inner
            }
        }
    }

    private static func withinTimeout(_ clock: MonotonicClock) async {
        async let quick = withTimeout(.seconds(3600), clock: clock) {
            await Task.yield()
            return 5
        }
        async let cancelled: Void = withDeadline(in: .microseconds(20), clock: clock) {
            try? await clock.sleep(for: .seconds(3600))
        }
        _ = await cancelled
        let value = try? await quick
        precondition(value == 5)
    }

    private static func ticking(_ clock: MonotonicClock) async {
        await withTaskGroup(of: Void.self) { group in
            let ticks = clock.ticks(every: .seconds(3600), first: .distantPast)
            group.addTask { for await _ in ticks {} }
            await Task.yield()
            group.cancelAll()
        }
    }

    private static func wasCancelled(_ clock: MonotonicClock, _ duration: Duration) async -> Bool {
        do { try await clock.sleep(for: duration) } catch { return true }
        return false
    }
}

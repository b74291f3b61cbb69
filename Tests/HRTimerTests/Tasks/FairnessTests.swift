// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// Tests of what other tasks get from an executor while a loop of sleeps or ticks is behind. On frozen time: nothing sleeps, since
/// every deadline has passed.
@Suite("A loop of waits that is behind", .hangLimit)
struct FairnessTests {
    /// What the loop waits for.
    enum Wait: CaseIterable {
        case ticks, wallTicks, dates, sleep, wallSleep
    }

    let time = ManualTime()

    /// Returns a function that waits for a deadline that passed an hour ago.
    private func waiting(for wait: Wait) throws -> Waiting {
        let start = time.now - .seconds(3600)
        let wallStart = time.wallNow - .seconds(3600)
        let clock = MonotonicClock(engine: try TimerEngine(.init(time: time.base)))
        let wall = WallClock(engine: try WallTimerEngine(.init(time: time.base)))
        switch wait {
        case .ticks:
            let ticks = Iterating(
                clock.ticks(every: .microseconds(1), first: start, policy: .burst).makeAsyncIterator()
            )
            return { await ticks.next() }
        case .wallTicks:
            let ticks = Iterating(
                wall.ticks(every: .microseconds(1), first: wallStart, policy: .burst).makeAsyncIterator()
            )
            return { await ticks.next() }
        case .dates:
            let ticks = SharedTicks(on: wall.host, Microseconds(), .burst)
            let dates = Iterating(DateIterator(consumer: ticks.makeConsumer(tolerance: .zero)))
            time.advance(by: .seconds(3600))
            return {
                await dates.next()
                // The ticks end with their engine.
                withExtendedLifetime(wall) {}
            }
        case .sleep: return { try? await clock.sleep(until: start) }
        case .wallSleep: return { try? await wall.sleep(until: wallStart) }
        }
    }

    /// An iterator for one task at a time.
    private final class Iterating<Ticks: AsyncIteratorProtocol>: @unchecked Sendable {
        // Sendable: one task alone uses it.
        private var iterator: Ticks

        init(_ iterator: Ticks) { self.iterator = iterator }

        func next(isolation: isolated (any Actor)? = #isolation) async {
            _ = try? await iterator.next(isolation: isolation)
        }
    }

    /// As the calendar's ticks do it.
    private struct DateIterator: AsyncIteratorProtocol {
        var consumer: TickConsumer<DateTicks>

        mutating func next() async -> Tick? { await consumer.next() }

        mutating func next(isolation: isolated (any Actor)?) async -> Tick? { await consumer.next() }
    }

    private struct Microseconds: DateSequence {
        func first(after instant_ns: Int64) -> Int64 { (instant_ns / 1000 + 1) * 1000 }
    }

    @Test("lets the other tasks of its actor run at each wait", arguments: Wait.allCases)
    func actors(_ wait: Wait) async throws {
        #expect(await PoolWorker().loop(try waiting(for: wait)) == 1)
    }

    @Test("lets the other tasks of the main actor run at each wait", arguments: Wait.allCases)
    func mainActor(_ wait: Wait) async throws {
        #expect(await Worker().loop(try waiting(for: wait)) == 1)
    }

    @Test(
        "lets the other tasks of a TimerExecutor run at each wait, be it an actor's or a task's",
        arguments: Wait.allCases
    )
    func timerExecutor(_ wait: Wait) async throws {
        let engine = try TimerEngine(.init(time: time.base))
        let executor = TimerExecutor(engine: engine)
        let waits = try waiting(for: wait)
        let onActor = Recorder<Int>()
        let onTask = Recorder<Int>()
        let task = Task {
            let worker = Worker(on: executor)
            onActor.append(await worker.loop(waits))
            await Task(executorPreference: executor) {
                let others = Recorder<Bool>()
                for _ in 0..<3 { await waits() }
                Task(executorPreference: executor) { others.append(true) }
                for passed in 1...10 where onTask.count == 0 {
                    await waits()
                    if others.count > 0 { onTask.append(passed) }
                }
            }.value
        }
        await time.run(until: task)
        #expect(onActor.all == [1])
        #expect(onTask.all == [1])
    }

    /// Each tick waits for a turn in the pool, which all tests share: fifty of them, then.
    @Test("still gets each tick that its policy gives it")
    func countsTicks() async throws {
        let clock = MonotonicClock(engine: try TimerEngine(.init(time: time.base)))
        var seen = 0
        let ticks = clock.ticks(every: .milliseconds(1), first: time.now - .milliseconds(49), policy: .burst)
        for await tick in ticks {
            seen += 1 + tick.missedTicks
            if tick.deadline == time.now { break }
        }
        #expect(seen == 50)
    }
}

/// A function that does not leave its caller's actor by itself.
private typealias Waiting = nonisolated(nonsending) @Sendable () async -> Void

/// An actor with a task of its own that waits, and others beside it.
private protocol WaitingActor: Actor {
    /// How often the other tasks have run.
    var others: Int { get set }
}

extension WaitingActor {
    private func work() { others += 1 }

    /// Waits ten times; after the third, makes another task of this actor. Returns how many waits passed until that task ran.
    func loop(_ wait: Waiting) async -> Int {
        for _ in 0..<3 { await wait() }
        Task { self.work() }
        for passed in 1...10 {
            await wait()
            if others > 0 { return passed }
        }
        return .max
    }
}

private actor PoolWorker: WaitingActor {
    var others = 0
}

/// Runs on an executor, or with the main actor.
private actor Worker: WaitingActor {
    private nonisolated let executor: TimerExecutor?
    var others = 0

    init(on executor: TimerExecutor? = nil) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor?.asUnownedSerialExecutor() ?? MainActor.sharedUnownedExecutor
    }
}

// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import TestSupport
import Testing

@testable import HRTimerTesting

/// Virtual time that moves by itself.
@Suite struct VirtualTimeTests {
    let order = Recorder<String>()

    @Test("A body that sleeps makes the clock jump to the deadline, and `.now` reads it")
    func sleeps() async throws {
        try await withManualTime { time in
            let start = time.now
            #expect(MonotonicInstant.now == start)
            try await Task.sleep(for: .seconds(3600), clock: .monotonic)
            #expect(start.duration(to: time.now) == .seconds(3600))
            #expect(MonotonicInstant.now == time.now)
            #expect(WallInstant.now == time.wallNow)
            #expect(BootTimeInstant.now == time.bootTimeNow)
            #expect(MonotonicClock().now == time.now)
        }
    }

    @Test("Advancing runs chains of sleeps to their end, each at its own deadline, in every kind of task")
    func chains() async throws {
        try await withManualTime { [order] time in
            let start = time.now
            @Sendable func chain(_ name: String, _ steps: [Int]) async throws {
                for step in steps {
                    try await Task.sleep(for: .seconds(step), clock: .monotonic)
                    order.append("\(name) \(start.duration(to: .now) / .seconds(1))")
                }
            }
            let plain = Task { try await chain("plain", [1, 1, 1]) }
            let detached = Task.detached {
                try await Task.sleep(for: .seconds(2.5), clock: .monotonic)
                order.append("detached")
            }
            async let child: Void = chain("child", [2, 2])
            await time.advance(by: .seconds(3))
            #expect(order.all == ["plain 1.0", "child 2.0", "plain 2.0", "detached", "plain 3.0"])
            await time.advance(by: .milliseconds(999))
            #expect(order.count == 5)
            await time.advance(by: .milliseconds(1))
            #expect(order.all.last == "child 4.0")
            try await child
            try await plain.value
            try await detached.value
        }
    }

    /// The debounce that most people write first.
    private actor Debounce {
        private var task: Task<Void, any Error>?
        private(set) var calls = 0

        func call() {
            task?.cancel()
            task = Task {
                try await Task.sleep(for: .milliseconds(300), clock: .monotonic)
                self.fire()
            }
        }

        private func fire() { calls += 1 }
    }

    @Test("A debounce fires once, 300 ms after the last call, in each of many rounds")
    func debounce() async throws {
        for round in 0..<rounds(100) {
            try await withManualTime(seed: UInt64(round)) { time in
                let debounce = Debounce()
                for _ in 0..<3 {
                    await debounce.call()
                    await time.advance(by: .milliseconds(299))
                    #expect(await debounce.calls == 0)
                }
                await time.advance(by: .milliseconds(1))
                #expect(await debounce.calls == 1)
                await time.advance(by: .seconds(10))
                #expect(await debounce.calls == 1)
            }
        }
    }

    @Test("A test has the same trace in every run; each seed gives an order of its own, also the same every time")
    func trace() async throws {
        func run(_ seed: UInt64?) async throws -> ([TestTime.Event], [String]) {
            try await withManualTime(TestTimeOptions(seed: seed)) { time in
                let order = Recorder<String>()
                let engine = try TimerEngine()
                engine.schedule(after: .seconds(1), every: .seconds(1)) { _ in order.append("tick") }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<5 {
                        group.addTask {
                            try await Task.sleep(for: .milliseconds(700 * (number % 3 + 1)), clock: .monotonic)
                            await Task { order.append("\(number)") }.value
                        }
                    }
                    try await group.waitForAll()
                }
                return (time.trace, order.all)
            }
        }
        let first = try await run(nil)
        var orders: Set<[String]> = []
        for seed in 0..<20 as Range<UInt64> {
            let seeded = try await run(seed)
            orders.insert(seeded.1)
            #expect(try await run(seed) == seeded)
        }
        #expect(orders.count > 1)
        #expect(first.1 == ["0", "3", "tick", "1", "4", "tick", "2"])
        for _ in 0..<rounds(50) { #expect(try await run(nil) == first) }
    }

    @Test("An engine that wakes for a moved deadline leaves no trace; a test sees only the deadline that holds")
    func awakeInVain() async throws {
        try await withManualTime { time in
            let start = time.now
            let engine = try TimerEngine(.init(name: "moved"))
            let source = TimerSource(engine: engine)
            let calls = Recorder<MonotonicInstant>()
            source.setEventHandler { calls.append(.now) }
            source.schedule(deadline: start + .seconds(1))
            source.activate()
            source.schedule(deadline: start + .seconds(3))
            #expect(await time.nextSleep() == start + .seconds(3))
            await time.advance(by: .seconds(2))
            #expect(engine.statistics.wakeups == 1 && engine.statistics.fires == 0)
            #expect(await time.run() == 1)
            #expect(calls.all == [start + .seconds(3)])
            let moves = time.trace.filter { $0.what == .moved }.map(\.instant)
            #expect(moves == [start + .seconds(2), start + .seconds(3)])
            #expect(time.trace.filter { $0.what == .engine("moved") }.map(\.instant) == [start + .seconds(3)])
            source.cancel()
        }
    }

    @Test("nextSleep() waits until everything waits, and returns the earliest deadline without moving the clock")
    func nextSleep() async throws {
        try await withManualTime { time in
            let start = time.now
            let task = Task {
                for _ in 0..<10 { await Task.yield() }
                try await Task.sleep(for: .seconds(7), clock: .monotonic)
            }
            #expect(await time.nextSleep() == start.advanced(by: .seconds(7)))
            #expect(time.nextDeadline == start.advanced(by: .seconds(7)))
            #expect(time.now == start)
            try await task.value
        }
    }

    @Test("The clock waits for yields in a task that has no executor of its own")
    func yields() async throws {
        for _ in 0..<20 {
            try await withManualTime { time in
                let start = time.now
                let task = Task {
                    for _ in 0..<100 { await Task.yield() }
                    try await Task.sleep(for: .seconds(7), clock: .monotonic)
                }
                #expect(await time.nextSleep() == start.advanced(by: .seconds(7)))
                try await task.value
            }
        }
    }

    @Test("A deadlock fails the test, and the failure says who sleeps and where the test waits")
    func deadlock() async throws {
        do {
            try await withManualTime { time in
                let task = Task { try await Task.sleep(until: .distantFuture, clock: .monotonic) }
                let engine = try TimerEngine(.init(name: "idle"))
                engine.schedule(at: .distantFuture) { _ in }
                try await task.value
            }
            Issue.record("a body that waits for ever has ended")
        } catch let failure as TestTimeFailure {
            #expect(failure.reason == .deadlock)
            #expect(failure.pending.contains("task 1 sleeps until distantFuture"))
            #expect(failure.pending.contains("engine idle: 1 timer, next at distantFuture"))
            #expect("\(failure)".contains("deadlock"))
        }
    }

    @Test("A deadlock in nextSleep() names its line, and a continuation that nobody resumes does not hang the test")
    func deadlockWithoutSleepers() async throws {
        let failure = await #expect(throws: TestTimeFailure.self) {
            try await withManualTime { time in _ = await time.nextSleep() }
        }
        let place = "nextSleep(), at HRTimerTestingTests/VirtualTimeTests.swift:"
        #expect(failure?.pending.contains { $0.contains(place) } == true)
        let stuck = Recorder<UnsafeContinuation<Void, Never>>()
        await #expect(throws: TestTimeFailure.self) {
            try await withManualTime { _ in await withUnsafeContinuation { stuck.append($0) } }
        }
        // It continues where there is no virtual time any more.
        stuck.all.first?.resume()
    }

    @Test("Work left at the end fails the test unless it is background or tolerated; a background sleeper is cancelled")
    func leftovers() async throws {
        let failure = await #expect(throws: TestTimeFailure.self) {
            try await withManualTime { time in
                Task { try await Task.sleep(for: .seconds(1), clock: .monotonic) }
                await time.runUntilIdle()
                #expect(throws: TestTimeFailure.self) { try time.checkNothingIsPending() }
            }
        }
        #expect(failure?.reason == .leftovers)
        #expect(failure?.pending.first?.hasPrefix("task 1 sleeps until ") == true)
        let ended = Recorder<Bool>()
        try await withManualTime { time in
            TestTime.background {
                _ = Task {
                    while true {
                        do {
                            try await Task.sleep(for: .seconds(1), clock: .monotonic)
                        } catch {
                            ended.append(error is CancellationError)
                            break
                        }
                    }
                }
            }
            await time.advance(by: .seconds(60))
        }
        #expect(ended.all == [true])
        try await withManualTime(TestTimeOptions(toleratesLeftovers: true)) { time in
            Task { try await Task.sleep(for: .seconds(1), clock: .monotonic) }
            await time.runUntilIdle()
        }
    }

    @Test("withManualTime throws its body's error, and returns its body's result")
    func results() async throws {
        struct Oops: Error {}
        #expect(try await withManualTime { _ in 42 } == 42)
        await #expect(throws: Oops.self) { try await withManualTime { _ in throw Oops() } }
        await #expect(throws: Oops.self) {
            try await withManualTime { time in
                Task { try await Task.sleep(for: .seconds(1), clock: .monotonic) }
                await time.runUntilIdle()
                throw Oops()
            }
        }
    }

    @Test("Cancelling the test's task cancels the body")
    func cancelled() async {
        let task = Task {
            try await withManualTime { time in
                // Loops until the task is cancelled, which happens in real time.
                let hold = time.hold("the canceller")
                while !Task.isCancelled { await Task.yield() }
                hold.release()
                try await Task.sleep(for: .seconds(1), clock: .monotonic)
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A hold keeps the clock from moving while work runs elsewhere")
    func hold() async throws {
        try await withManualTime { time in
            let start = time.now
            let queue = DispatchQueue(label: "elsewhere")
            let hold = time.hold("work on a queue")
            let sleeper = Task { try await Task.sleep(for: .seconds(5), clock: .monotonic) }
            let seen = await withCheckedContinuation { continuation in
                queue.async {
                    continuation.resume(returning: time.now)
                    hold.release()
                }
            }
            #expect(seen == start)
            try await sleeper.value
            #expect(time.now == start.advanced(by: .seconds(5)))
        }
    }

    @Test("A hold that lasts too long fails the test, and the failure names it")
    func patience() async throws {
        let failure = await #expect(throws: TestTimeFailure.self) {
            // Longer than a busy machine keeps the test's thread waiting in one job.
            try await withManualTime(TestTimeOptions(patience: .milliseconds(500))) { time in
                let hold = time.hold("a request")
                try await Task.sleep(for: .seconds(1), clock: .monotonic)
                hold.release()
            }
        }
        #expect(failure?.reason == .standstill)
        #expect(failure?.pending.contains { $0.hasPrefix("held: a request, by HRTimerTestingTests/") } == true)
    }

    @Test("Tasks that become ready again and again keep the clock from moving, and fail the test when patience ends")
    func busy() async throws {
        let failure = await #expect(throws: TestTimeFailure.self) {
            try await withManualTime(TestTimeOptions(patience: .milliseconds(500))) { time in
                while !Task.isCancelled { await Task.yield() }
            }
        }
        #expect(failure?.reason == .busy)
    }

    @Test("run(limit:) goes from deadline to deadline, and returns their number")
    func run() async throws {
        try await withManualTime { time in
            let engine = try TimerEngine()
            engine.schedule(after: .seconds(1)) { _ in engine.schedule(after: .seconds(3600)) { _ in } }
            #expect(await time.run() == 2)
            engine.schedule(after: .seconds(1), every: .seconds(1)) { _ in }
            #expect(await time.run(limit: 50) == 50)
            #expect(engine.statistics.fires == 52)
        }
    }

    @Test("run(limit:) counts only deadlines, not the instants to which another task advances the clock")
    func runBesideAdvance() async throws {
        try await withManualTime { time in
            let start = time.now
            let engine = try TimerEngine()
            engine.schedule(after: .seconds(10)) { _ in }
            async let advanced: Void = time.advance(by: .seconds(3))
            async let moves = time.run()
            await advanced
            #expect(time.now == start.advanced(by: .seconds(3)))
            #expect(await moves == 1)
            #expect(time.now == start.advanced(by: .seconds(10)))
        }
    }

    @Test("A clock that is advanced to the distant future stops right before it, and timers set to it do not fire")
    func advanceToTheEnd() async throws {
        try await withManualTime(TestTimeOptions(toleratesLeftovers: true)) { time in
            let engine = try TimerEngine()
            let fired = Recorder<MonotonicInstant>()
            engine.schedule(after: .seconds(1)) { fired.append($0.firedAt) }
            engine.schedule(at: .distantFuture) { fired.append($0.firedAt) }
            let due = time.now.advanced(by: .seconds(1))
            await time.advance(to: .distantFuture)
            #expect(fired.all == [due])
            #expect(time.now.nanoseconds == .max - 1)
        }
    }

    @Test("A virtual time that has ended is freed, whatever tasks it had")
    func freed() async throws {
        let over = WeakScheduler()
        try await withManualTime { time in
            over.scheduler.withLock { $0 = .init(object: time.scheduler) }
            await Task {}.value
            try await Task { try await Task.sleep(for: .seconds(1), clock: .monotonic) }.value
        }
        // The thread that ran it may not have returned yet.
        let limit = MonotonicInstant.now + .seconds(30)
        while over.isAlive, .now < limit { try await Task.sleep(for: .milliseconds(1)) }
        #expect(!over.isAlive)
    }

    private final class WeakScheduler: Sendable {
        struct Reference { weak var object: DeterministicScheduler? }
        let scheduler = Locked(Reference())
        var isAlive: Bool { scheduler.withLock { $0.object != nil } }
    }

    @Test("The wall clock can be set and the system suspended; sleepers on those clocks notice")
    func otherClocks() async throws {
        try await withManualTime { time in
            let start = time.now
            let wall = Task { try await Task.sleep(until: time.wallNow.advanced(by: .seconds(60)), clock: .wall) }
            let boot = Task { try await Task.sleep(for: .seconds(3600), clock: .bootTime) }
            await time.runUntilIdle()
            await time.setWall(to: time.wallNow.advanced(by: .seconds(61)))
            try await wall.value
            await time.suspendSystem(for: .seconds(3600))
            try await boot.value
            #expect(time.now == start)
        }
    }

    @Test("Two virtual times in parallel, and one inside the other, are independent")
    func severalTimes() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seconds in 1...4 {
                group.addTask {
                    try await withManualTime { outer in
                        let start = outer.now
                        try await Task.sleep(for: .seconds(seconds), clock: .monotonic)
                        let hold = outer.hold("the time inside")
                        try await withManualTime(TestTimeOptions(start: MonotonicInstant(nanoseconds: 77))) { inner in
                            #expect(MonotonicInstant.now.nanoseconds == 77)
                            try await Task.sleep(for: .nanoseconds(3), clock: .monotonic)
                            #expect(MonotonicInstant.now.nanoseconds == 80)
                        }
                        hold.release()
                        #expect(start.duration(to: .now) == .seconds(seconds))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("A body on the main actor, and tasks that it makes there, run in virtual time too")
    @MainActor func mainActor() async throws {
        try await withManualTime { @MainActor time in
            let start = time.now
            let called = Recorder<Duration>()
            var pending: Task<Void, any Error>?
            for _ in 0..<3 {
                pending?.cancel()
                pending = Task { @MainActor in
                    try await Task.sleep(for: .milliseconds(300), clock: .monotonic)
                    called.append(start.duration(to: .now))
                }
                await time.advance(by: .milliseconds(100))
            }
            await time.advance(by: .milliseconds(199))
            #expect(called.all.isEmpty)
            await time.advance(by: .milliseconds(1))
            #expect(called.all == [.milliseconds(500)])
        }
    }

    /// Returns the number of rounds: the usual one, or more for a longer test, as with `HRTIMER_VIRTUAL_ROUNDS=10000`.
    private func rounds(_ usual: Int) -> Int { environment("HRTIMER_VIRTUAL_ROUNDS").flatMap { Int($0) } ?? usual }
}

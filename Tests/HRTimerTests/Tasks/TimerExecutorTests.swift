// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of executors on frozen time: their jobs run on the thread that advances the clock.
@Suite struct TimerExecutorTests {
    let time = ManualTime()
    let engine: TimerEngine
    let executor: TimerExecutor
    let order = Recorder<String>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        executor = TimerExecutor(engine: engine)
    }

    @Test("In virtual time jobs run when the clock advances, even by zero, in the order of their submission")
    func runsJobs() async {
        let tasks = (0..<100).map { number in Task(executorPreference: executor) { order.append("\(number)") } }
        #expect(order.all.isEmpty)
        time.advance(by: .zero)
        #expect(order.all == (0..<100).map { "\($0)" })
        for task in tasks { await task.value }
    }

    @Test("An executor's pending job counts among the engine's live timers until it begins")
    func liveUntilItBegins() async {
        let live = Recorder<Int>()
        let task = Task(executorPreference: executor) { [engine] in live.append(engine.liveTimers) }
        #expect(engine.liveTimers == 1)
        time.advance(by: .zero)
        await task.value
        #expect(live.all == [0])
        #expect(engine.liveTimers == 0)
    }

    @Test("A task resumes in the fire of its sleep, before timers due at the same instant that were armed later")
    func resumesInTheFire() async {
        let clock = MonotonicClock(engine: engine)
        let start = time.now
        let task = Task(executorPreference: executor) { [order] in
            for number in 1...3 {
                try? await clock.sleep(until: start.advanced(by: .seconds(number)))
                order.append("task \(clock.now == start.advanced(by: .seconds(number)))")
            }
        }
        time.advance(by: .zero)
        engine.schedule(at: start.advanced(by: .seconds(1)), every: .seconds(1)) { [order] _ in order.append("timer") }
        time.advance(by: .seconds(3))
        // The task arms its next sleep before the engine arms the timer again, so the timer comes second each time.
        #expect(order.all == ["task true", "timer", "task true", "timer", "task true", "timer"])
        await task.value
        #expect(engine.liveTimers == 1)
    }

    @Test("The shutdown of an engine moves its jobs to other threads and gives its sleepers a CancellationError")
    func end() async {
        let sleeper = Task(executorPreference: executor) { [engine] in
            try await MonotonicClock(engine: engine).sleep(until: .distantFuture)
        }
        time.advance(by: .zero)
        let waiting = (0..<10).map { number in Task(executorPreference: executor) { order.append("\(number)") } }
        #expect(order.all.isEmpty)
        await engine.shutdown()
        for task in waiting { await task.value }
        await Task(executorPreference: executor) { order.append("late") }.value
        #expect(order.all == (0..<10).map { "\($0)" } + ["late"])
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test("Any number of jobs costs the engine one work item and one wake")
    func oneJob() async {
        let tasks = (0..<1000).map { _ in Task(executorPreference: executor) {} }
        time.advance(by: .zero)
        for task in tasks { await task.value }
        #expect(engine.statistics.fires == 1)
        #expect(engine.statistics.wakesSent <= 1)
    }

    @Test("Jobs of a loop wait, as its blocks do, until it runs in a common mode")
    func waitsForItsLoop() async {
        let loop = TimerLoop(time: time.base)
        let task = Task(executorPreference: TimerExecutor(loop: loop)) { order.append("job") }
        loop.perform { [order] in order.append("block") }
        time.advance(by: .seconds(1))
        #expect(order.all.isEmpty)
        Self.run(loop, TimerLoop.Mode("private"))
        #expect(order.all.isEmpty)
        Self.run(loop, .default)
        #expect(order.all == ["job", "block"])
        await task.value
    }

    private static func run(_ loop: TimerLoop, _ mode: TimerLoop.Mode) {
        _ = loop.run(mode: mode, before: .distantPast)
    }

    @Test("An executor keeps its engine alive when all other references are gone")
    func keepsItsEngine() async {
        var engine: TimerEngine? = try? TimerEngine(.init(time: time.base))
        weak let kept = engine
        let executor = engine.map { TimerExecutor(engine: $0) }
        engine = nil
        #expect(kept != nil)
        let task = Task(executorPreference: executor) { order.append("job") }
        time.advance(by: .zero)
        await task.value
        #expect(order.all == ["job"])
        withExtendedLifetime(executor) {}
    }

    @Test("An executor runs actors on its tasks' thread, in turn with the tasks, and is current in its jobs alone")
    func serialExecutor() async {
        let resident = Resident(executor.serialExecutor)
        let first = Task(executorPreference: executor) { [executor] in order.append("task \(executor.isCurrent)") }
        let second = Task { await resident.add("actor", to: order) }
        #expect(!executor.isCurrent)
        while order.count < 2 {
            time.advance(by: .zero)
            await Task.yield()
        }
        await first.value
        await second.value
        #expect(Set(order.all) == ["task true", "actor"])
    }

    @Test("An executor is freed when nothing runs on it: neither an engine nor a loop holds it")
    func isFree() async throws {
        weak var freed: TimerExecutor?
        do {
            let executor = TimerExecutor(engine: engine)
            let inLoop = TimerExecutor(loop: TimerLoop(time: time.base))
            freed = executor
            let task = Task(executorPreference: executor) {}
            time.advance(by: .zero)
            await task.value
            // The loop of `inLoop` is released without ever having run.
            _ = inLoop
        }
        while freed != nil { await Task.yield() }
    }
}

/// An actor that holds only the serial executor, not the `TimerExecutor`.
private actor Resident {
    private let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ executor: any SerialExecutor) { self.executor = executor }

    func add(_ entry: String, to order: Recorder<String>) { order.append(entry) }
}

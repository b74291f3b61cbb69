// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Every face in virtual time that moves by itself. No test really sleeps.
@Suite struct VirtualFacesTests {
    let calls = Recorder<String>()

    /// Records a call and the time since `start` in ms.
    private func note(_ name: String, since start: MonotonicInstant) {
        calls.append("\(name) \(start.duration(to: .now) / .milliseconds(1))")
    }

    @Test("Engines are virtual by default, and each virtual time has its own shared engines, which end with it")
    func engines() async throws {
        let shared = try await withManualTime { time in
            let engine = try TimerEngine()
            #expect(engine.now == time.now)
            #expect(TimerEngine.shared === TimerEngine.shared)
            TimerEngine.shared.schedule(after: .seconds(1)) { [calls] fire in calls.append("\(fire.lateness)") }
            BootTimeTimerEngine.shared.schedule(at: time.bootTimeNow.advanced(by: .seconds(2))) { [calls] _ in
                calls.append("boot")
            }
            WallTimerEngine.shared.schedule(at: time.wallNow.advanced(by: .seconds(3))) { [calls] _ in
                calls.append("wall")
            }
            await time.advance(by: .seconds(3))
            #expect(calls.all == ["0.0 seconds", "boot", "wall"])
            return TimerEngine.shared
        }
        #expect(shared !== TimerEngine.shared)
        #expect(shared.schedule(after: .zero) { _ in } == .stale)
        // Each of a hundred virtual times has its own.
        for _ in 0..<100 { #expect(try await withManualTime { _ in TimerEngine.shared } !== shared) }
    }

    @Test("Clocks without an engine of their own go by the time in which they are used, wherever they were made")
    func clocks() async throws {
        let (monotonic, boot, wall) = (MonotonicClock(), BootTimeClock(), WallClock())
        let ids = (monotonic: monotonic.id, boot: boot.id, wall: wall.id)
        try await withManualTime { time in
            #expect(monotonic.now == time.now && boot.now == time.bootTimeNow && wall.now == time.wallNow)
            #expect(monotonic.id != ids.monotonic && boot.id != ids.boot && wall.id != ids.wall)
            let start = time.now
            try await monotonic.sleep(for: .seconds(60))
            try await boot.sleep(for: .seconds(60))
            try await wall.sleep(for: .seconds(60))
            #expect(start.duration(to: time.now) == .seconds(180))
        }
    }

    @Test("Sources run on their own queues, serial, concurrent or main, and time stands still meanwhile")
    func queues() async throws {
        let queues = [
            DispatchQueue(label: "serial"), DispatchQueue(label: "concurrent", attributes: .concurrent),
            DispatchQueue.main,
        ]
        try await withManualTime { [calls] time in
            let start = time.now
            let sources = queues.map { queue in
                let source = TimerSource(queue: queue)
                source.setEventHandler {
                    // Long enough to expose a clock that does not wait for the handler.
                    usleep(200)
                    calls.append("\(queue.label) \(start.duration(to: .now) / .milliseconds(1))")
                }
                source.schedule(deadline: .now + .milliseconds(10), repeating: .milliseconds(10))
                source.activate()
                return source
            }
            await time.advance(by: .milliseconds(25))
            #expect(
                calls.all == [
                    "serial 10.0", "concurrent 10.0", "com.apple.main-thread 10.0",
                    "serial 20.0", "concurrent 20.0", "com.apple.main-thread 20.0",
                ]
            )
            for source in sources { source.cancel() }
        }
    }

    @Test("A registry's tasks run in virtual time, on the engine's thread and on a queue")
    func registry() async throws {
        try await withManualTime { [calls] time in
            let start = time.now
            let tasks = TimerRegistry()
            try tasks.execute(name: "a", start: .seconds(1), interval: .seconds(2)) {
                calls.append("a \(start.duration(to: .now) / .seconds(1))")
            }
            try tasks.execute(name: "b", start: .seconds(2), repeats: false, queue: DispatchQueue(label: "b")) {
                calls.append("b \(start.duration(to: .now) / .seconds(1))")
            }
            await time.advance(by: .seconds(5))
            #expect(calls.all == ["a 1.0", "b 2.0", "a 3.0", "a 5.0"])
            tasks.cancelAll()
        }
    }

    /// The thread's loop, in a synchronous property: neither `current` nor `run` is for asynchronous functions.
    private var here: TimerLoop { TimerLoop.current }

    private func run(_ loop: TimerLoop, for duration: Duration) {
        loop.run(until: .now + duration)
    }

    @Test("While the body runs a loop itself, tasks and engines continue, in the order of time")
    func loopOfTheBody() async throws {
        try await withManualTime { [calls, self] time in
            let start = time.now
            let loop = here
            #expect(loop.now == time.now)
            let timer = LoopTimer(timeInterval: .seconds(2), repeats: true) { _ in note("loop", since: start) }
            loop.add(timer, forMode: .default)
            let task = Task {
                for _ in 0..<3 {
                    try await Task.sleep(for: .milliseconds(1500), clock: .monotonic)
                    note("task", since: start)
                }
            }
            run(loop, for: .seconds(5))
            #expect(calls.all == ["task 1500.0", "loop 2000.0", "task 3000.0", "loop 4000.0", "task 4500.0"])
            #expect(start.duration(to: .now) == .seconds(5))
            timer.invalidate()
            try await task.value
        }
    }

    @Test("Loops with their own threads take turns with the tasks, the same way each time")
    func threads() async throws {
        func run() async throws -> ([String], [TestTime.Event]) {
            try await withManualTime { time in
                let calls = Recorder<String>()
                let start = time.now
                @Sendable func note(_ name: String) {
                    calls.append("\(name) \(start.duration(to: .now) / .seconds(1))")
                }
                let threads = try (0..<3).map { try TimerLoop.thread(name: "loop \($0)") }
                for (number, thread) in threads.enumerated() {
                    let timer = LoopTimer(timeInterval: .seconds(1 + number), repeats: true) { _ in note("\(number)") }
                    thread.loop.add(timer, forMode: .default)
                }
                let worker = try LoopWorker { loop in
                    var left = 2
                    let timer = LoopTimer.scheduledHere(timeInterval: .seconds(2), repeats: true) { timer in
                        note("worker")
                        left -= 1
                        if left == 0 { timer.invalidate() }
                    }
                    _ = timer
                }
                try await Task.sleep(for: .seconds(2), clock: .monotonic)
                note("body")
                threads[0].loop.perform { note("block") }
                await worker.wait()
                note("body")
                for thread in threads { await thread.shutdown() }
                return (calls.all, time.trace)
            }
        }
        let first = try await run()
        #expect(first.0.filter { $0.hasPrefix("0") } == ["0 1.0", "0 2.0", "0 3.0", "0 4.0"])
        #expect(first.0.filter { $0.hasPrefix("1") } == ["1 2.0", "1 4.0"])
        #expect(first.0.filter { $0.hasPrefix("2") } == ["2 3.0"])
        #expect(first.0.filter { $0.hasPrefix("w") } == ["worker 2.0", "worker 4.0"])
        #expect(first.0.filter { $0.hasPrefix("b") } == ["body 2.0", "block 2.0", "body 4.0"])
        for _ in 0..<20 { #expect(try await run() == first) }
    }

    /// Calls `wait()` and `shutdown()` without `await`: both block.
    private func end(_ thread: LoopThread, _ worker: LoopWorker) {
        worker.wait()
        thread.shutdown()
    }

    @Test("Blocking until a thread of virtual time ends lets that thread run on")
    func blocking() async throws {
        try await withManualTime { [self] time in
            let start = time.now
            let thread = try TimerLoop.thread()
            let worker = try LoopWorker { loop in
                let timer = LoopTimer(timeInterval: .seconds(3), repeats: false) { _ in note("worker", since: start) }
                loop.add(timer, forMode: .default)
            }
            end(thread, worker)
            #expect(calls.all == ["worker 3000.0"])
            #expect(start.duration(to: .now) == .seconds(3))
        }
    }

    /// Waits for the queue in a synchronous function, because `sync` is not for asynchronous ones.
    private func sync(_ queue: DispatchQueue) {
        queue.sync {}
    }

    @Test("Blocking on a source's queue lets the source's handler run, though not at once")
    func blockingForQueue() async throws {
        var options = TestTimeOptions()
        options.slowness = .milliseconds(50)
        try await withManualTime(options) { [calls, self] _ in
            let queue = DispatchQueue(label: "serial")
            let source = TimerSource(queue: queue)
            source.setCancelHandler { calls.append("cancelled") }
            source.activate()
            source.cancel()
            sync(queue)
            #expect(calls.all == ["cancelled"])
        }
    }

    @Test("A loop that waits for nothing is a deadlock, which fails the test and does not hang it")
    func loopWithoutTimers() async throws {
        let failure = await #expect(throws: TestTimeFailure.self) {
            try await withManualTime { [self] _ in
                here.isKeptAlive = true
                run(here, for: .nanoseconds(Int64.max))
                try Task.checkCancellation()
            }
        }
        #expect(failure?.reason == .deadlock)
    }

    @Test("Display links fire once per virtual refresh, in the body's loop and in another thread's")
    func displayLink() async throws {
        try await withManualTime { [self] time in
            let start = time.now
            let loop = here
            let frames = Recorder<Duration>()
            let link = DisplayLink { link in frames.append(start.duration(to: link.timestamp)) }
            link.add(to: loop, forMode: .default)
            run(loop, for: .seconds(1))
            #expect(frames.count == 60)
            #expect(frames.all.last == .seconds(1))
            link.invalidate()
            let thread = try TimerLoop.thread(name: "display")
            let other = DisplayLink(framesPerSecond: 100) { link in frames.append(start.duration(to: link.timestamp)) }
            other.add(to: thread.loop, forMode: .default)
            await time.advance(by: .milliseconds(50))
            #expect(frames.count == 65)
            other.invalidate()
            await thread.shutdown()
        }
    }

    @Test("Timeouts, ticks and idle timeouts run in virtual time, and leave nothing pending")
    func timeouts() async throws {
        try await withManualTime { [calls] time in
            let start = time.now
            await #expect(throws: TimedOut.self) {
                try await withTimeout(.seconds(5)) { try await Task.sleep(for: .seconds(3600), clock: .monotonic) }
            }
            #expect(start.duration(to: .now) == .seconds(5))
            for await tick in MonotonicClock().ticks(every: .seconds(1)) {
                calls.append("tick \(start.duration(to: tick.deadline) / .seconds(1))")
                if calls.count == 3 { break }
            }
            #expect(calls.all == ["tick 6.0", "tick 7.0", "tick 8.0"])
            let idle = IdleTimeout(.seconds(2)) { calls.append("idle \(start.duration(to: .now) / .seconds(1))") }
            await time.advance(by: .seconds(1))
            idle.touch()
            await time.advance(by: .seconds(1.5))
            #expect(calls.count == 3)
            await time.advance(by: .seconds(0.5))
            #expect(calls.all.last == "idle 11.0")
            try time.checkNothingIsPending()
        }
    }

    @Test("Tasks on a TimerExecutor, and work submitted to a queue, run in virtual time")
    func executors() async throws {
        try await withManualTime { [calls] time in
            let engine = try TimerEngine()
            let executor = TimerExecutor(engine: engine)
            let task = Task(executorPreference: executor) {
                try await Task.sleep(for: .seconds(1), clock: MonotonicClock(engine: engine))
                calls.append("task \(MonotonicInstant.now == time.now)")
            }
            engine.schedule(after: .seconds(2), on: DispatchQueue(label: "work")) {
                calls.append("work \(MonotonicInstant.now == time.now)")
            }
            await time.advance(by: .seconds(2))
            #expect(calls.all == ["task true", "work true"])
            try await task.value
        }
    }

    @Test("A thread unknown to virtual time reads the kernel's clock and is counted; inside enter() it is virtual")
    func unmanaged() async throws {
        try await withManualTime { time in
            let queue = DispatchQueue(label: "unknown")
            let before = time.unmanagedReadings
            let hold = time.hold("a queue")
            let (unmanaged, entered) = await withCheckedContinuation { continuation in
                queue.async {
                    let unmanaged = MonotonicInstant.now
                    let entered = time.enter { MonotonicInstant.now }
                    continuation.resume(returning: (unmanaged, entered))
                    hold.release()
                }
            }
            #expect(unmanaged != time.now)
            #expect(entered == time.now)
            #expect(time.unmanagedReadings > before)
        }
    }

    @Test("A handler that a ManualTime fires also reads virtual time, and makes engines of it")
    func byHand() throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        let shared = TimerEngine.shared
        let read = Recorder<MonotonicInstant>()
        engine.schedule(after: .seconds(1)) { _ in
            read.append(.now)
            #expect(TimerEngine.shared !== shared)
            #expect(TimerEngine.shared.now == time.now)
        }
        let source = TimerSource(engine: engine, queue: DispatchQueue(label: "by hand"))
        let called = DispatchSemaphore(value: 0)
        source.setEventHandler {
            read.append(.now)
            called.signal()
        }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)))
        source.activate()
        time.advance(by: .seconds(1))
        called.wait()
        #expect(read.all == [time.now, time.now])
        #expect(MonotonicInstant.now != time.now)
        source.cancel()
    }
}

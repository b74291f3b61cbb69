// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

/// Handlers that are isolated to an actor, on the real kernel. A test process has an asynchronous main function, so that its
/// main queue does not belong to the main thread.
@Suite(.serialized, .hangLimit) struct ActorHandlerTests {
    @MainActor private final class Model {
        var calls: [String] = []

        private func note(_ call: String) {
            MainActor.assertIsolated()
            dispatchPrecondition(condition: .onQueue(.main))
            calls.append(call)
        }

        func tick(_ timer: LoopTimer) { note("tick") }
        func frame(_ link: DisplayLink) { note("frame") }
        func perform() { note("perform") }
        func block() { note("block") }
    }

    @globalActor private actor Other {
        static let shared = Other()
    }

    @Test("Methods of a main-actor type that another thread's loop calls run on the main actor")
    @MainActor func targets() async throws {
        let model = Model()
        let worker = try TimerLoop.thread()
        let timer = LoopTimer(timeInterval: 0.001, weakTarget: model, action: Model.tick, repeats: false)
        worker.loop.add(timer, forMode: .default)
        let link = DisplayLink(framesPerSecond: 1000, weakTarget: model, action: Model.frame)
        link.add(to: worker.loop, forMode: .default)
        worker.loop.perform { @MainActor in model.perform() }
        worker.loop.perform(afterDelay: .milliseconds(1)) { @MainActor in model.perform() }
        try await until {
            let counts = Dictionary(model.calls.map { ($0, 1) }, uniquingKeysWith: +)
            return counts["tick"] == 1 && counts["frame", default: 0] > 0 && counts["perform"] == 2
        }
        link.invalidate()
        await worker.shutdown()
    }

    @Test("A main-actor block runs there when a loop, engine or queue calls it; another actor's block runs on that")
    @MainActor func blocks() async throws {
        let model = Model()
        let worker = try TimerLoop.thread()
        let engine = try TimerEngine()
        worker.loop.perform { @MainActor in model.block() }
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { @MainActor _ in model.block() }
        worker.loop.add(timer, forMode: .default)
        let link = DisplayLink(framesPerSecond: 1000) { @MainActor link in
            model.block()
            link.invalidate()
        }
        link.add(to: worker.loop, forMode: .default)
        let sources = [TimerSource(engine: engine), TimerSource(engine: engine, queue: .main)]
        for source in sources {
            source.setEventHandler { @MainActor in model.block() }
            source.schedule(deadline: .now)
            source.activate()
        }
        let others = Recorder<Bool>()
        worker.loop.perform { @Other in
            Other.assertIsolated()
            others.append(true)
        }
        try await until { model.calls.count >= 5 && others.count == 1 }
        await engine.shutdown()
        await worker.shutdown()
    }

    @Test("The main thread's loop calls a main-actor block in order with other blocks, not in a task")
    func inTurn() async throws {
        let log = Recorder<Int>()
        for round in 0..<50 {
            TimerLoop.main.perform { @MainActor in log.append(3 * round) }
            TimerLoop.main.perform { log.append(3 * round + 1) }
            TimerLoop.main.perform { @MainActor in log.append(3 * round + 2) }
        }
        try await until { log.count == 150 }
        #expect(log.all == Array(0..<150))
    }

    @Test("Ticks that pass while the main actor is busy make one call, and none if the actor invalidates the timer")
    @MainActor func busy() async throws {
        let model = Model()
        let worker = try TimerLoop.thread()
        let passed = Recorder<Bool>()
        let timer = LoopTimer(timeInterval: 0.001, weakTarget: model, action: Model.tick, repeats: true)
        // A constant of this type does not inherit the main actor, as a closure given here would.
        let pass: LoopTimer.Handler = { _ in passed.append(true) }
        let witness = LoopTimer(timeInterval: .milliseconds(1), repeats: true, block: pass)
        worker.loop.add(timer, forMode: .default)
        worker.loop.add(witness, forMode: .default)
        // Keeps the main actor busy: it does not suspend here.
        func hold(until count: Int) { while passed.count < count { usleep(1000) } }
        hold(until: 50)
        // This task runs after the one call that waits for the main actor, and before any other call.
        #expect(await Task { model.calls.count }.value == 1)
        // Again one call waits for the main actor. The actor invalidates the timer first: the call is not made.
        hold(until: passed.count + 20)
        let count = model.calls.count
        timer.invalidate()
        #expect(await Task { model.calls.count }.value == count)
        await worker.shutdown()
    }
}

/// The values that a handler on an actor reads. They belong to its own call, however late the actor gets to it.
@Suite(.serialized, .hangLimit) struct ActorReportTests {
    /// Returns how many ticks of the grid have come by now.
    private static func ticks(since first: MonotonicInstant, _ interval: Duration) -> Int {
        Int((MonotonicInstant.now - first) / interval) + 1
    }

    @MainActor private final class Tally {
        var ticks = 0
        var calls: [Int] = []

        func note(_ count: Int) {
            calls.append(count)
            ticks += count
        }
    }

    @Test(
        "A source's handler on the main actor reads its ticks, and all calls together report each tick once",
        arguments: [false, true]
    )
    func sourceData(onQueue: Bool) async throws {
        let tally = await MainActor.run { Tally() }
        let engine = try TimerEngine()
        let queue = onQueue ? DispatchQueue(label: "source") : nil
        let source = TimerSource(flags: [], engine: engine, queue: queue)
        let first = MonotonicInstant.now + .milliseconds(5)
        let consistent = Recorder<Bool>()
        source.setEventHandler { @MainActor [weak source] in
            guard let source else { return }
            tally.note(Int(source.data))
            // The first tick that no call has reported yet is the next deadline.
            // A cancelled source, which the last call may find, has none.
            let next = source.nextDeadline
            consistent.append(next == first + .milliseconds(tally.ticks) || source.isCancelled)
            // Ticks come meanwhile; the next call reports them.
            if tally.calls.count % 10 == 0 { usleep(5000) }
        }
        source.schedule(deadline: first, repeating: .milliseconds(1))
        source.activate()
        try await until(100) { tally.calls.count }
        await source.cancelAndWait()
        #expect(await tally.calls.allSatisfy { $0 >= 1 })
        #expect(await tally.calls.contains { $0 > 1 })
        #expect(!consistent.all.contains(false))
        #expect(source.data == 0)
        await engine.shutdown()
    }

    @Test(
        "A source suspended before the main actor gets to its call is not called, and reports the ticks after resume"
    )
    @MainActor func suspended() async throws {
        let tally = Tally()
        let engine = try TimerEngine()
        let source = TimerSource(engine: engine)
        source.setEventHandler { @MainActor [weak source] in tally.note(Int(source?.data ?? 0)) }
        let first = MonotonicInstant.now
        source.schedule(deadline: first, repeating: .milliseconds(1))
        source.activate()
        // By now a call waits for this actor.
        usleep(20_000)
        source.suspend()
        for _ in 0..<20 { await Task.yield() }
        try await Task.sleep(for: .milliseconds(20))
        #expect(tally.calls.isEmpty)
        source.resume()
        while tally.calls.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        #expect(tally.calls[0] >= 40)
        await source.cancelAndWait()
        await engine.shutdown()
    }

    @Test("A loop timer's handler on the main actor reads the ticks that came while the actor was busy")
    @MainActor func loopTimer() async throws {
        let tally = Tally()
        let worker = try TimerLoop.thread()
        let passed = Recorder<Int>()
        let first = MonotonicInstant.now + .milliseconds(5)
        let timer = LoopTimer(fireAt: first, interval: .milliseconds(1), repeats: true) { @MainActor timer in
            tally.note(1 + timer.missedTicks)
        }
        let pass: LoopTimer.Handler = { passed.append(1 + $0.missedTicks) }
        let witness = LoopTimer(fireAt: first, interval: .milliseconds(1), repeats: true, block: pass)
        worker.loop.add(timer, forMode: .default)
        worker.loop.add(witness, forMode: .default)
        while passed.count < 50 { usleep(1000) }
        let known = passed.all.reduce(0, +)
        #expect(tally.calls.isEmpty)
        try await until { tally.ticks >= known }
        #expect(tally.calls[0] >= 25)
        #expect(tally.ticks <= Self.ticks(since: first, .milliseconds(1)))
        // From now on the actor is free. Each call reports what it read, whatever the loop does meanwhile.
        try await until { tally.calls.count >= 20 }
        #expect(tally.ticks <= Self.ticks(since: first, .milliseconds(1)))
        // None is lost: but for the latest few, all have come.
        try await until { tally.ticks >= Self.ticks(since: first, .milliseconds(1)) - 10 }
        timer.invalidate()
        await worker.shutdown()
    }

    @Test("A loop timer's handler on the main actor reads its ticks also once it has moved and invalidated the timer")
    @MainActor func loopTimerChanged() async throws {
        let worker = try TimerLoop.thread()
        var misses: [Int] = []
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { @MainActor timer in
            misses.append(timer.missedTicks)
            timer.fireInstant = .now + .seconds(60)
            misses.append(timer.missedTicks)
            timer.invalidate()
            misses.append(timer.missedTicks)
        }
        worker.loop.add(timer, forMode: .default)
        // The actor is busy until several ticks have come.
        while worker.loop.statistics.fires < 5 { usleep(1000) }
        try await until { misses.count == 3 }
        #expect(misses[0] > 1 && misses == [Int](repeating: misses[0], count: 3))
        await worker.shutdown()
    }

    @Test(
        "A link's handler on the main actor reads the refresh of its own call, and counts skipped refreshes as dropped"
    )
    @MainActor func link() async throws {
        let worker = try TimerLoop.thread()
        var stamps: [MonotonicInstant] = []
        var dropped: [Int] = []
        let link = DisplayLink(framesPerSecond: 500) { @MainActor link in
            stamps.append(link.timestamp)
            dropped.append(link.droppedFrames)
        }
        link.add(to: worker.loop, forMode: .default)
        // The actor is busy for tens of refreshes, twice.
        usleep(60_000)
        try await until { stamps.count >= 5 }
        usleep(60_000)
        try await until { stamps.count >= 10 }
        link.invalidate()
        #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 })
        for (call, next) in zip(stamps.indices, stamps.indices.dropFirst()) {
            let passed = Int(((stamps[next] - stamps[call]) / .milliseconds(2)).rounded())
            #expect(dropped[next] - dropped[call] == passed - 1)
        }
        #expect(dropped.last! >= 20)
        await worker.shutdown()
    }

    @Test("A registry's task on the main actor runs there, and ends after one call if it does not repeat")
    func registry() async throws {
        let tally = await MainActor.run { Tally() }
        let registry = TimerRegistry()
        try registry.execute(name: "often", interval: .milliseconds(1)) { @MainActor in
            MainActor.assertIsolated()
            tally.note(1)
        }
        let once = try registry.execute(name: "once", repeats: false) { @MainActor in tally.note(1000) }
        try await until { tally.calls.count >= 20 && tally.ticks >= 1000 }
        registry.cancelAll()
        #expect(await tally.calls.filter { $0 == 1000 }.count == 1)
        #expect(!registry.isRunning(once))
    }
}

/// `scheduledHere`: a block that is not Sendable stays on its thread.
@Suite(.serialized, .hangLimit) struct LocalHandlerTests {
    /// An object that is not Sendable, and records which thread frees it.
    private final class Local {
        var calls = 0
        private let freed: Recorder<pthread_t>
        private let onFree: () -> Void

        init(_ freed: Recorder<pthread_t>, onFree: @escaping () -> Void = {}) {
            self.freed = freed
            self.onFree = onFree
        }

        deinit {
            freed.append(pthread_self())
            onFree()
        }
    }

    private static func join(_ thread: pthread_t) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                pthread_join(thread, nil)
                continuation.resume()
            }
        }
    }

    @Test("A block is called and freed on its thread, whether its timer ends there, elsewhere or with the thread")
    func freedHere() async throws {
        let freed = Recorder<pthread_t>()
        let timers = Recorder<LoopTimer>()
        let calls = Recorder<Bool>()
        let thread = try startThread {
            let itself = pthread_self()
            for _ in 0..<4 {
                let local = Local(freed)
                let timer = LoopTimer.scheduledHere(timeInterval: .milliseconds(1), repeats: true) { timer in
                    local.calls += 1
                    calls.append(pthread_equal(itself, pthread_self()) != 0)
                    // The first timer invalidates itself in its own call.
                    if local.calls == 3, timer == timers.all.first { timer.invalidate() }
                }
                timers.append(timer)
            }
            TimerLoop.current.run()
        }
        while freed.count < 1 { try await Task.sleep(for: .milliseconds(1)) }
        timers.all[1].invalidate()
        while freed.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
        // These two blocks are freed in the loop's last pass, or when the thread ends.
        timers.all[2].invalidate()
        timers.all[3].invalidate()
        await Self.join(thread)
        #expect(freed.count == 4)
        #expect(freed.all.allSatisfy { pthread_equal($0, thread) != 0 })
        #expect(calls.count > 3 && !calls.all.contains(false))
    }

    @Test("A loop that never runs frees the block with its thread, and a deinit may schedule another block meanwhile")
    func neverRun() async throws {
        let freed = Recorder<pthread_t>()
        let thread = try startThread {
            let local = Local(freed) {
                let other = Local(freed)
                LoopTimer.scheduledHere(timeInterval: .seconds(1), repeats: false) { _ in other.calls += 1 }
            }
            LoopTimer.scheduledHere(timeInterval: .seconds(3600), repeats: false) { _ in local.calls += 1 }
        }
        await Self.join(thread)
        #expect(freed.count == 2)
        #expect(freed.all.allSatisfy { pthread_equal($0, thread) != 0 })
    }

    @Test("A one-shot's block is freed after its call, and ten thousand leave nothing behind")
    func oneShots() async throws {
        let freed = Recorder<pthread_t>()
        let thread = try startThread {
            for _ in 0..<10_000 {
                let local = Local(freed)
                LoopTimer.scheduledHere(timeInterval: .zero, repeats: false) { _ in local.calls += 1 }
            }
            TimerLoop.current.run()
            if freed.count != 10_000 { Issue.record("left: \(10_000 - freed.count)") }
        }
        await Self.join(thread)
    }

    @Test("scheduledHere ends the program in a loop that no thread owns, as does firing its timer on another thread")
    func refused() async {
        await #expect(processExitsWith: .failure) {
            let loop = TimerLoop()
            loop.perform { LoopTimer.scheduledHere(timeInterval: .zero, repeats: false) { _ in } }
            Self.run(loop)
        }
        await #expect(processExitsWith: .failure) {
            let timers = Recorder<LoopTimer>()
            let worker = try TimerLoop.thread()
            worker.loop.perform {
                timers.append(LoopTimer.scheduledHere(timeInterval: .seconds(1), repeats: false) { _ in })
            }
            while timers.count == 0 { usleep(1000) }
            timers.all[0].fire()
        }
    }

    private static func run(_ loop: TimerLoop) { loop.run() }
}

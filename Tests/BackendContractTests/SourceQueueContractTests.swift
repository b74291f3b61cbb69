import Dispatch
import Glibc
import HRTimer
import HRTimerCore
import Synchronization
import TestSupport
import Testing

/// Sources on queues and the real clock. Counts that the machine's load may change are wanted of one try of many.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SourceQueueContractTests {
    private let queue = DispatchQueue(label: "contract")

    private func wait(until isSo: () -> Bool) {
        while !isSo() { usleep(100) }
    }

    private func sleep(until instant: MonotonicInstant) {
        while MonotonicInstant.now < instant { usleep(500) }
    }

    @Test(
        "dispatch_suspend_timer on the real clock: 3 calls with 3 ticks, and after the rest 7 with 9; never a tick too many"
    )
    func suspendExample() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let interval_ns: Int64 = 10_000_000
        var seen: [[UInt]] = []
        for _ in 0..<50 {
            let calls = Recorder<UInt>()
            let begin = MonotonicInstant.now
            func instant(_ intervals: Double) -> MonotonicInstant {
                begin.advanced(by: .nanoseconds(Int64(Double(interval_ns) * intervals)))
            }
            let source = TimerSource(engine: engine, queue: queue)
            source.setEventHandler { [weak source] in
                calls.append(source?.data ?? 0)
                let passed = (MonotonicInstant.now.nanoseconds - begin.nanoseconds) / interval_ns
                #expect(calls.all.reduce(0, +) <= UInt(passed))
            }
            source.schedule(deadline: instant(1), repeating: .nanoseconds(interval_ns))
            source.activate()
            sleep(until: instant(3.5))
            source.suspend()
            queue.sync {}
            let before = calls.all
            sleep(until: instant(6.5))
            queue.sync {}
            #expect(calls.count == before.count)
            source.resume()
            sleep(until: instant(9.5))
            source.suspend()
            queue.sync {}
            source.cancelAndWait()
            seen.append([UInt(before.count), before.reduce(0, +), UInt(calls.count), calls.all.reduce(0, +)])
            if seen.last == [3, 3, 7, 9] { return }
        }
        Issue.record("no try of 50 made 3 calls with 3 ticks, then 7 with 9: \(seen)")
    }

    @Test("A source on a queue wakes its engine once for a fire, and not again when the call is over")
    func wakesOnce() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        for _ in 0..<50 {
            let calls = Recorder<Bool>()
            let source = TimerSource(engine: engine, queue: queue)
            source.setEventHandler { calls.append(true) }
            source.schedule(deadline: .now, repeating: .milliseconds(2))
            source.activate()
            wait { calls.count >= 2 }
            let before = engine.statistics.wakesSent
            wait { calls.count >= 22 }
            let sent = engine.statistics.wakesSent - before
            source.cancelAndWait()
            // One for each call until this was so.
            if sent <= 4 { return }
        }
        Issue.record("the engine was woken at the end of most calls, in 50 tries")
    }

    @Test("A blocked queue costs its engine no more than one wake-up, however many ticks pass")
    func blocked() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let calls = Recorder<UInt>()
        let source = TimerSource(engine: engine, queue: queue)
        source.setEventHandler { [weak source] in calls.append(source?.data ?? 0) }
        source.schedule(deadline: .now.advanced(by: .milliseconds(1)), repeating: .milliseconds(1))
        queue.suspend()
        source.activate()
        wait { engine.statistics.fires == 1 }
        let before = engine.statistics.wakeups
        sleep(until: .now.advanced(by: .milliseconds(30)))
        #expect(engine.statistics.wakeups - before <= 1)
        #expect(engine.statistics.fires == 1)
        queue.resume()
        wait { calls.count > 0 }
        #expect(calls.all.first.map { $0 >= 30 } == true)
        source.cancelAndWait()
    }

    @Test(
        "Work that is due goes to its queue from the calling thread, in order, and counts as a fire; after shutdown it does not"
    )
    func workNow() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let log = Recorder<Int>()
        for index in 0..<1000 {
            let token = engine.schedule(at: .now, on: queue) { log.append(index) }
            #expect(!engine.cancel(token))
        }
        queue.sync {}
        #expect(log.all == Array(0..<1000))
        #expect(engine.statistics.fires == 1000)
        engine.shutdown()
        engine.schedule(at: .now, on: queue) { log.append(-1) }
        queue.sync {}
        #expect(log.count == 1000)
    }

    @Test(
        "Who cancels and waits finds the cancel handler called: on the engine's thread, and on a queue in an asynchronous function"
    )
    func cancelHandlerIsOver() async throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let log = Recorder<Int>()
        func blocking(_ round: Int) {
            let source = TimerSource(engine: engine)
            source.setCancelHandler { log.append(round) }
            source.schedule(deadline: .now, repeating: .microseconds(20))
            source.setEventHandler {}
            source.activate()
            source.cancelAndWait()
            #expect(log.count == round + 1)
        }
        for round in 0..<200 { blocking(round) }
        log.removeAll()
        for round in 0..<200 {
            let source = round % 2 == 0 ? TimerSource(engine: engine, queue: queue) : TimerSource(engine: engine)
            source.setCancelHandler { log.append(round) }
            source.schedule(deadline: .now, repeating: .microseconds(20))
            source.setEventHandler {}
            source.activate()
            await source.cancelAndWait()
            #expect(log.count == round + 1)
        }
        await engine.shutdown()
    }

    @Test(
        "Whoever waits for a cancel handler goes on when the engine is shut down meanwhile, and when its thread is the caller's"
    )
    func neverWaitsForEver() throws {
        let log = Recorder<Int>()
        for round in 0..<50 {
            let engine = try TimerEngine(.init(name: "contract"))
            let source = TimerSource(engine: engine)
            source.setCancelHandler { log.append(round) }
            source.activate()
            source.cancel()
            let ender = try startThread { engine.shutdown() }
            source.cancelAndWait()
            join(ender)
            #expect(log.count == round + 1)
        }
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let hasReturned = DispatchSemaphore(value: 0)
        engine.schedule(at: .now) { _ in
            let source = TimerSource(engine: engine)
            source.setCancelHandler { log.append(-1) }
            source.activate()
            source.cancelAndWait()
            hasReturned.signal()
        }
        hasReturned.wait()
        wait { log.all.last == -1 }
    }

    @Test("On a concurrent queue nothing of a source runs once it was cancelled and waited for, in 10,000 rounds")
    func concurrent() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let queue = DispatchQueue(label: "contract", attributes: .concurrent)
        final class Round: Sendable {
            let isOver = Atomic(false)
            let isRunning = Atomic(false)
        }
        let faults = Faults()
        for number in 0..<10_000 {
            let round = Round()
            let source = TimerSource(engine: engine, queue: queue)
            source.setEventHandler {
                if round.isRunning.exchange(true, ordering: .sequentiallyConsistent) { faults.add() }
                if round.isOver.load(ordering: .sequentiallyConsistent) { faults.add() }
                round.isRunning.store(false, ordering: .sequentiallyConsistent)
            }
            source.schedule(deadline: .now, repeating: .microseconds(5))
            source.activate()
            for _ in 0..<number % 50 { _ = MonotonicInstant.now }
            source.cancelAndWait()
            round.isOver.store(true, ordering: .sequentiallyConsistent)
            if round.isRunning.load(ordering: .sequentiallyConsistent) { faults.add() }
        }
        queue.sync(flags: .barrier) {}
        #expect(faults.count == 0)
    }

    private final class Faults: Sendable {
        private let seen = Atomic(0)
        func add() { seen.add(1, ordering: .sequentiallyConsistent) }
        var count: Int { seen.load(ordering: .sequentiallyConsistent) }
    }

    @Test(
        "A source that is to be precise has its normal engine spin, on its thread and on a queue, and never calls early",
        arguments: [false, true]
    )
    func precise(onQueue: Bool) throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let early = Faults()
        let calls = Recorder<Bool>()
        let source = TimerSource(flags: [], engine: engine, queue: onQueue ? queue : nil)
        let grid = MonotonicInstant.now
        source.setEventHandler { [weak source] in
            // The deadlines before the next one have come.
            let late_ns = MonotonicInstant.now.nanoseconds - grid.nanoseconds
            if late_ns / 2_000_000 < calls.count { early.add() }
            for _ in 0..<(source?.data ?? 1) { calls.append(true) }
        }
        source.schedule(deadline: grid, repeating: .milliseconds(2))
        source.activate()
        wait { calls.count >= 10 }
        #expect(engine.statistics.spinTime == .zero)
        source.precision = .precise
        wait { engine.statistics.spinTime > .zero }
        source.precision = nil
        let marked = calls.count
        wait { calls.count >= marked + 3 }
        let spun = engine.statistics.spinTime
        wait { calls.count >= marked + 20 }
        #expect(engine.statistics.spinTime == spun)
        #expect(early.count == 0)
        source.cancelAndWait()
    }
}

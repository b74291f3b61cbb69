import Dispatch
import Glibc
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// What a source does between the steps of its engine, which prepares a call, maybe before the deadline, and then makes it or
/// finds it withdrawn. The test takes the engine's steps; time is frozen.
@Suite struct SourceStagingTests {
    let time = ManualTime()
    let engine: TimerEngine
    let calls = Recorder<UInt>()
    let blocks = Recorder<Block>()
    let deadline: MonotonicInstant

    /// What was submitted to the queue.
    struct Block: Sendable {
        let run: @Sendable () -> Void
    }

    init() throws {
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.defersMoves = true
        engine = try TimerEngine(configuration)
        deadline = time.now.advanced(by: .seconds(1))
    }

    private func makeSource(onQueue: Bool = false) -> TimerSource {
        let target = SourceCore.Target { [blocks] block in blocks.append(Block(run: block)) }
        let source = TimerSource(engine: engine, target: onQueue ? target : nil)
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
        source.schedule(deadline: deadline)
        source.activate()
        return source
    }

    /// As the engine does, under its lock.
    private func begin(_ source: TimerSource, at instant: MonotonicInstant) -> (@Sendable () -> Void)? {
        engine.core.state.withLock { core in
            var fire = Fire()
            fire.isAhead = true
            guard source.core.prepare(instant.nanoseconds, &core, &fire) else { return nil }
            return fire.callback?.run
        }
    }

    private func end(_ source: TimerSource, wasCalled: Bool) {
        let end = engine.core.state.withLock { core -> Callback? in
            var fire = Fire()
            source.core.finish(wasCalled: wasCalled, time.now.nanoseconds, &core, &fire)
            return fire.block.take()
        }
        end?.run()
    }

    @Test("A call made up before its deadline, called off and wanted again, comes at the deadline and not before")
    func calledOff() {
        let source = makeSource()
        _ = begin(source, at: deadline)
        source.suspend()
        end(source, wasCalled: false)
        source.resume()
        time.advance(by: .milliseconds(999))
        #expect(calls.count == 0)
        time.advance(by: .milliseconds(1))
        #expect(calls.all == [1])
    }

    @Test("Ticks of a call that was called off are not lost when the next call is called off before it was made up")
    func calledOffTwice() {
        let source = makeSource()
        _ = begin(source, at: deadline)
        source.suspend()
        end(source, wasCalled: false)
        _ = begin(source, at: deadline)
        end(source, wasCalled: false)
        source.resume()
        time.advance(by: .seconds(1))
        #expect(calls.all == [1])
    }

    @Test("Scheduled anew for what is due before its call is made up, it is called once")
    func scheduledBeforePrepare() {
        let source = makeSource()
        source.schedule(deadline: time.now)
        begin(source, at: time.now)?()
        end(source, wasCalled: true)
        time.advance(by: .seconds(10))
        #expect(calls.all == [1])
    }

    @Test("Moved later while its call is on its way to the queue, it is not called for the former deadline")
    func movedOnItsWay() throws {
        let source = makeSource(onQueue: true)
        // What is due is submitted at once.
        source.schedule(deadline: time.now)
        source.schedule(deadline: deadline)
        try #require(blocks.all.first).run()
        #expect(calls.count == 0)
        time.advance(by: .seconds(1))
        #expect(blocks.count == 2)
        blocks.all.last?.run()
        #expect(calls.all == [1])
    }

    @Test("Cancelled when its call is made up, a queue's source calls the cancel handler on the queue")
    func cancelHandlerOnQueue() {
        let source = makeSource(onQueue: true)
        let cancels = Recorder<Int>()
        source.setCancelHandler { cancels.append(1) }
        _ = begin(source, at: deadline)
        source.cancel()
        end(source, wasCalled: false)
        #expect(cancels.count == 0)
        #expect(blocks.count == 1)
        blocks.all.forEach { $0.run() }
        #expect(cancels.count == 1)
        #expect(calls.count == 0)
    }

    @Test(
        "Dropped right after cancel, the cancel handler is called all the same, and everything freed",
        arguments: [false, true]
    )
    func droppedAfterCancel(onQueue: Bool) {
        let canaries = Canaries()
        let cancels = Recorder<Int>()
        var source: TimerSource? = makeSource(onQueue: onQueue)
        source?.setCancelHandler { [canary = canaries.make()] in
            withExtendedLifetime(canary) { cancels.append(1) }
        }
        source?.cancel()
        source = nil
        time.advance(by: .seconds(10))
        blocks.all.forEach { $0.run() }
        #expect(cancels.count == 1)
        #expect(calls.count == 0)
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 0)
    }

    @Test("Scheduled anew while its call waits for the deadline, it is called for the new one alone")
    func scheduledWhileAhead() {
        let source = makeSource()
        _ = begin(source, at: deadline)
        source.schedule(deadline: deadline.advanced(by: .seconds(2)))
        end(source, wasCalled: false)
        time.advance(by: .seconds(2))
        #expect(calls.count == 0)
        time.advance(by: .seconds(1))
        #expect(calls.all == [1])
    }

    @Test("Called off for something else that is due earlier, it keeps its place among sources with equal deadlines")
    func keepsItsPlace() {
        let order = Recorder<Int>()
        let sources = (0..<3).map { index in
            let source = makeSource()
            source.setEventHandler { order.append(index) }
            return source
        }
        let isWithdrawn = engine.core.state.withLock { state in
            let now_ns = time.now.nanoseconds
            state.wakeUp()
            var fire = Fire()
            guard case .fire = state.poll(now_ns, horizon_ns: deadline.nanoseconds, limit_ns: .max, &fire) else {
                return false
            }
            let isWithdrawn = state.commit.withdraw()
            _ = state.finish(&fire, now_ns, wasCalled: false)
            return isWithdrawn
        }
        #expect(isWithdrawn)
        time.advance(by: .seconds(1))
        #expect(order.all == [0, 1, 2])
        sources.forEach { $0.cancel() }
    }

    @Test("With a call on its way to the queue the engine is armed for the deadline after it, which nobody sees yet")
    func expected() throws {
        let source = makeSource(onQueue: true)
        source.schedule(deadline: deadline, repeating: .seconds(5))
        time.advance(to: deadline)
        #expect(engine.core.nextWake_ns == deadline.advanced(by: .seconds(5)).nanoseconds)
        #expect(time.nextDeadline == .distantFuture)
        let wakes = engine.statistics.wakesSent
        try #require(blocks.all.first).run()
        #expect(time.nextDeadline == deadline.advanced(by: .seconds(5)))
        #expect(engine.statistics.wakesSent == wakes && calls.all == [1])
    }

    @Test("Suspended while its call is on its way to the queue, it is called after resume, for the same tick")
    func suspendedOnItsWay() throws {
        let source = makeSource(onQueue: true)
        time.advance(by: .seconds(1))
        source.suspend()
        try #require(blocks.all.first).run()
        #expect(calls.count == 0)
        source.resume()
        time.advance(by: .zero)
        #expect(blocks.count == 2)
        blocks.all.last?.run()
        #expect(calls.all == [1])
    }

    @Test("Cancelled while its call is on its way to the queue, it is not called, and its cancel handler once")
    func cancelledOnItsWay() throws {
        let source = makeSource(onQueue: true)
        let cancels = Recorder<Int>()
        source.setCancelHandler { cancels.append(1) }
        time.advance(by: .seconds(1))
        source.cancel()
        source.cancel()
        #expect(cancels.count == 0)
        blocks.all.forEach { $0.run() }
        source.cancel()
        time.advance(by: .seconds(1))
        #expect(blocks.count == 1)
        #expect(calls.count == 0)
        #expect(cancels.count == 1)
    }

    @Test("Whoever cancels and waits, waits for the cancel handler too", .timeLimit(.minutes(15)))
    func waitsForCancelHandler() throws {
        let source = makeSource(onQueue: true)
        let log = Recorder<String>()
        let (isRunning, mayReturn, hasReturned) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        source.setCancelHandler {
            isRunning.signal()
            mayReturn.wait()
            log.append("handler")
        }
        source.cancel()
        let block = try #require(blocks.all.first)
        let runner = try startThread { block.run() }
        isRunning.wait()
        let waiter = try startThread {
            source.cancelAndWait()
            log.append("waiter")
            hasReturned.signal()
        }
        #expect(hasReturned.wait(timeout: .now() + 0.02) == .timedOut)
        mayReturn.signal()
        for thread in [runner, waiter] { pthread_join(thread, nil) }
        #expect(log.all == ["handler", "waiter"])
    }
}

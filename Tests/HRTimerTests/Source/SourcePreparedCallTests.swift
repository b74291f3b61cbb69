// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Glibc
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// Tests of what a source does between the steps of its engine, which prepares a call, maybe before the deadline, and then makes
/// it or finds it withdrawn. The tests take the engine's steps themselves; time is frozen.
@Suite struct SourcePreparedCallTests {
    let time = ManualTime()
    let engine: TimerEngine
    let calls = Recorder<UInt>()
    let blocks = Recorder<Block>()
    let deadline: MonotonicInstant

    /// A block that was submitted to the queue.
    struct Block: Sendable {
        let run: @Sendable () -> Void
    }

    /// The calls that `begin` has prepared: the engine keeps a call between its two ends.
    private let prepared = Recorder<@Sendable () -> Void>()

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

    /// Prepares a call as the engine does, under its lock. Returns nil if there is nothing to call.
    private func begin(_ source: TimerSource, at instant: MonotonicInstant) -> (@Sendable () -> Void)? {
        engine.core.state.withLock { core in
            var fire = Fire()
            fire.isBeforeDeadline = true
            fire.token = source.core.state.timer ?? .stale
            core.running = FiringCore.Call(token: fire.token, thread: hrt_thread_pointer())
            guard source.core.prepare(instant.nanoseconds, &core, &fire) else { return nil }
            if let run = fire.callback?.run { prepared.append(run) }
            return fire.callback?.run
        }
    }

    /// Ends the call that was prepared last.
    private func end(_ source: TimerSource, wasCalled: Bool) {
        let end = engine.core.state.withLock { core -> Callback? in
            var fire = Fire()
            fire.callback = prepared.all.last.map { Callback($0) }
            fire.token = source.core.state.timer ?? .stale
            defer { core.running = nil }
            source.core.finish(wasCalled: wasCalled, time.now.nanoseconds, &core, &fire)
            return fire.block.take()
        }
        end?.run()
    }

    @Test("A call that is prepared before its deadline, withdrawn and wanted again comes at the deadline, not before")
    func withdrawn() {
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

    @Test("Ticks of a withdrawn call are not lost when the next call is withdrawn before it is prepared")
    func withdrawnTwice() {
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

    @Test("A source that is rescheduled to now before its call is prepared is called once")
    func scheduledBeforePrepare() {
        let source = makeSource()
        source.schedule(deadline: time.now)
        begin(source, at: time.now)?()
        end(source, wasCalled: true)
        time.advance(by: .seconds(10))
        #expect(calls.all == [1])
    }

    @Test("A source moved later while its call is on its way to the queue is not called for the former deadline")
    func movedOnItsWay() throws {
        let source = makeSource(onQueue: true)
        // A source that is due is submitted at once.
        source.schedule(deadline: time.now)
        source.schedule(deadline: deadline)
        try #require(blocks.all.first).run()
        #expect(calls.count == 0)
        time.advance(by: .seconds(1))
        #expect(blocks.count == 2)
        blocks.all.last?.run()
        #expect(calls.all == [1])
    }

    @Test("A queue's source that is cancelled when its call is prepared calls the cancel handler on the queue")
    func cancelHandlerOnQueue() {
        let source = makeSource(onQueue: true)
        let cancels = Recorder<Int>()
        source.setCancelHandler { cancels.append(1) }
        _ = begin(source, at: deadline)
        source.cancel()
        end(source, wasCalled: false)
        #expect(cancels.count == 0)
        // Of a target that may end, as a loop may, each way to the end has a block; the first one that runs is the end.
        #expect(blocks.count == 2)
        blocks.all.forEach { $0.run() }
        #expect(cancels.count == 1)
        #expect(calls.count == 0)
    }

    @Test(
        "A source that is released right after cancel still calls its cancel handler, and frees everything",
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

    @Test("A source rescheduled while its prepared call waits for the deadline is called at the new deadline only")
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

    @Test("A source whose call is withdrawn for an earlier one keeps its place among equal deadlines")
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
            state.parkAgain(now_ns)
            return isWithdrawn
        }
        #expect(isWithdrawn)
        time.advance(by: .seconds(1))
        #expect(order.all == [0, 1, 2])
        sources.forEach { $0.cancel() }
    }

    @Test("While a call is on its way to the queue nothing is armed; its end wakes the engine for the next deadline")
    func onItsWay() throws {
        let source = makeSource(onQueue: true)
        source.schedule(deadline: deadline, repeating: .seconds(5))
        time.advance(to: deadline)
        #expect(engine.core.nextWake_ns == .max)
        #expect(time.nextDeadline == nil)
        let wakes = engine.statistics.wakesSent
        try #require(blocks.all.first).run()
        #expect(time.nextDeadline == deadline.advanced(by: .seconds(5)))
        #expect(engine.statistics.wakesSent == wakes + 1 && calls.all == [1])
    }

    @Test("A source suspended while its call is on its way to the queue is called after resume, for the same tick")
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

    @Test("A source cancelled while its call is on its way to the queue calls its cancel handler once, nothing else")
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
        #expect(blocks.count == 2)
        #expect(calls.count == 0)
        #expect(cancels.count == 1)
    }

    @Test("cancelAndWait waits for the cancel handler too", .hangLimit)
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

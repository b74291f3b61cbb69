// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerCore
import TestSupport
import TestTraits
import Testing

/// How sources and their engines end, in every order.
@Suite(.hangLimit) struct SourceEndTests {
    @Test("A cancel handler is called once although the engine is shut down right after the cancel")
    func cancelThenShutdown() throws {
        let called = Recorder<Int>()
        for round in 0..<200 {
            let engine = try TimerEngine()
            let source = TimerSource(engine: engine)
            source.setCancelHandler { called.append(round) }
            source.schedule(deadline: .now, repeating: .milliseconds(1))
            source.activate()
            source.cancel()
            engine.shutdown()
        }
        #expect(called.all == Array(0..<200))
    }

    @Test("A source scheduled by wall time after it or its engine has ended leaves no timer on the wall-clock engine")
    func scheduledAfterTheEnd() throws {
        let engine = try TimerEngine()
        let sources = (0..<2000).map { _ in TimerSource(engine: engine) }
        for source in sources.prefix(1000) { source.cancel() }
        engine.shutdown()
        let before = WallTimerEngine.shared.liveTimers
        for source in sources { source.schedule(deadline: WallInstant.now.advanced(by: .seconds(3600))) }
        // Other tests use that engine too.
        #expect(WallTimerEngine.shared.liveTimers < before + 500)
    }

    @Test("A cancel handler on a queue is called once although the engine is shut down right after the cancel")
    func cancelThenShutdownOnQueue() throws {
        let called = Recorder<Int>()
        let queue = DispatchQueue(label: "source-end")
        for round in 0..<50 {
            let engine = try TimerEngine()
            let source = TimerSource(engine: engine, queue: queue)
            source.setCancelHandler { called.append(round) }
            source.activate()
            source.cancel()
            engine.shutdown()
        }
        queue.sync {}
        #expect(called.all == Array(0..<50))
    }

    @Test(
        "Every call to a cancelled source with a blocked queue is harmless after its coalesced engine was shut down"
    )
    func verbsAfterCoalescedEnd() throws {
        let engine = try TimerEngine(.init(precision: .coalesced))
        let queue = DispatchQueue(label: "source-end")
        let source = TimerSource(engine: engine, queue: queue)
        let called = Recorder<Int>()
        source.setCancelHandler { called.append(1) }
        source.activate()
        queue.suspend()
        source.cancel()
        engine.shutdown()
        source.schedule(deadline: .now, leeway: .zero)
        source.suspend()
        source.resume()
        queue.resume()
        queue.sync {}
        #expect(called.all == [1])
    }

    @Test("A source that is cancelled after its engine's shutdown calls no cancel handler: the shutdown has freed it")
    func cancelledAfterShutdown() throws {
        let engine = try TimerEngine()
        let canaries = Canaries()
        let called = Recorder<Int>()
        let source = TimerSource(engine: engine)
        source.setEventHandler {}
        source.setCancelHandler { [canary = canaries.make()] in withExtendedLifetime(canary) { called.append(1) } }
        source.schedule(deadline: .now.advanced(by: .seconds(3600)))
        source.activate()
        engine.shutdown()
        #expect(canaries.count == 0)
        source.cancel()
        source.cancelAndWait()
        #expect(called.all.isEmpty)
    }

    @Test("Shutdown frees handlers that capture their own source, and a source on an ended engine keeps no handler")
    func shutdownFrees() throws {
        let canaries = Canaries()
        let engine = try TimerEngine()
        weak var kept: TimerSource?
        do {
            let source = TimerSource(engine: engine)
            let canary = canaries.make()
            source.setEventHandler { withExtendedLifetime((source, canary)) {} }
            source.setCancelHandler { withExtendedLifetime(source) {} }
            source.schedule(deadline: .now.advanced(by: .seconds(3600)))
            source.activate()
            kept = source
        }
        #expect(kept != nil)
        kept?.schedule(deadline: .now.advanced(by: .seconds(7200)))
        engine.shutdown()
        #expect(kept == nil)
        #expect(canaries.count == 0)
        let late = TimerSource(engine: engine)
        late.setEventHandler { [canary = canaries.make()] in withExtendedLifetime(canary) {} }
        #expect(canaries.count == 0)
    }

    @Test(
        "Shutdown in a source's own handler frees the handler too, and calls its cancel handler if it was cancelled",
        arguments: [false, true]
    )
    func shutdownInHandler(isCancelled: Bool) throws {
        let canaries = Canaries()
        let done = DispatchSemaphore(value: 0)
        let cancelled = Recorder<Int>()
        do {
            let engine = try TimerEngine()
            let source = TimerSource(engine: engine)
            let canary = canaries.make()
            source.setEventHandler {
                withExtendedLifetime(canary) {}
                if isCancelled { source.cancel() }
                engine.shutdown()
                done.signal()
            }
            source.setCancelHandler { cancelled.append(1) }
            source.schedule(deadline: .now)
            source.activate()
        }
        #expect(done.wait(timeout: .now() + 30) == .success)
        for _ in 0..<3000 where canaries.count > 0 || cancelled.count < (isCancelled ? 1 : 0) {
            pause(.milliseconds(1))
        }
        #expect(canaries.count == 0)
        #expect(cancelled.count == (isCancelled ? 1 : 0))
    }

    @Test("A call that waits in a blocked queue is not made once the engine is shut down")
    func blockedQueue() throws {
        let engine = try TimerEngine()
        let queue = DispatchQueue(label: "blocked")
        let source = TimerSource(engine: engine, queue: queue)
        let calls = Recorder<UInt>()
        source.setEventHandler { calls.append(1) }
        queue.suspend()
        source.schedule(deadline: .now)
        source.activate()
        while engine.statistics.fires == 0 { pause(.milliseconds(1)) }
        engine.shutdown()
        queue.resume()
        queue.sync {}
        #expect(calls.count == 0)
    }

    @Test("A cancelled source whose queue is blocked calls its cancel handler there after the shutdown, once")
    func blockedCancel() throws {
        let engine = try TimerEngine()
        let queue = DispatchQueue(label: "blocked")
        let source = TimerSource(engine: engine, queue: queue)
        let calls = Recorder<String>()
        source.setEventHandler { calls.append("event") }
        source.setCancelHandler { calls.append("cancel") }
        queue.suspend()
        source.schedule(deadline: .now)
        source.activate()
        while engine.statistics.fires == 0 { pause(.milliseconds(1)) }
        source.cancel()
        engine.shutdown()
        #expect(calls.count == 0)
        queue.resume()
        queue.sync {}
        #expect(calls.all == ["cancel"])
    }

    @Test("Inside a handler `data` stays what it was when the source is rescheduled, there or by another thread")
    func dataWhileScheduled() throws {
        let engine = try TimerEngine()
        let source = TimerSource(engine: engine)
        let (seen, done) = (Recorder<UInt>(), DispatchSemaphore(value: 0))
        source.setEventHandler { [weak source] in
            guard let source else { return }
            source.schedule(deadline: .distantFuture as MonotonicInstant)
            seen.append(source.data)
            let other = try? startThread { source.schedule(deadline: .distantFuture as MonotonicInstant) }
            if let other { join(other) }
            seen.append(source.data)
            done.signal()
        }
        source.schedule(deadline: .now)
        source.activate()
        #expect(done.wait(timeout: .now() + 30) == .success)
        #expect(seen.all == [1, 1])
    }

    @Test("Rescheduling a source drops a call of the former schedule that waits in its queue")
    func scheduledWhileQueued() throws {
        let engine = try TimerEngine()
        let queue = DispatchQueue(label: "queued")
        let source = TimerSource(engine: engine, queue: queue)
        let calls = Recorder<Int>()
        source.setEventHandler { calls.append(1) }
        queue.suspend()
        source.schedule(deadline: .now)
        source.activate()
        while engine.statistics.fires == 0 { pause(.milliseconds(1)) }
        source.schedule(deadline: .distantFuture as MonotonicInstant)
        queue.resume()
        queue.sync {}
        #expect(calls.count == 0)
    }
}

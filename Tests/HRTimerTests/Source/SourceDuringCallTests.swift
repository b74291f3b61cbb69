// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// Changes of a source while a call of it is under way: prepared, submitted, or running.
@Suite struct SourceDuringCallTests {
    let time = ManualTime()
    let engine: TimerEngine
    let start: MonotonicInstant
    let canaries = Canaries()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        start = time.now
    }

    /// The seconds since the start at which a source was called.
    private func seconds(_ calls: Recorder<MonotonicInstant>) -> [Double] {
        calls.all.map { start.duration(to: $0) / .seconds(1) }
    }

    @Test("A deadline in the past that is set in the handler is called at once, not skipped")
    func pastDeadlineInHandler() {
        let source = TimerSource(engine: engine)
        let calls = Recorder<MonotonicInstant>()
        source.policy = .mergeToGrid
        source.setEventHandler { [time, start, weak source] in
            calls.append(time.now)
            if calls.count == 1 { source?.schedule(deadline: start + .milliseconds(500), repeating: .seconds(5)) }
        }
        source.schedule(deadline: start + .seconds(1), repeating: .seconds(1))
        source.activate()
        for _ in 0..<4 { time.advance(by: .seconds(1)) }
        #expect(seconds(calls) == [1, 1])
    }

    /// What a handler does to its source's handler: sets another one, none, or cancels the source.
    enum Change: CaseIterable { case another, none, cancel }

    @Test(
        "A handler that the running handler replaces is alive until that has returned, is freed then, and is not called again",
        arguments: Change.allCases,
        [TimerPrecision.normal, .precise]
    )
    func replacedInHandler(_ change: Change, _ precision: TimerPrecision) throws {
        let source = TimerSource(engine: try TimerEngine(.init(precision: precision, time: time.base)))
        let log = Recorder<String>()
        do {
            let canary = canaries.make()
            source.setEventHandler { [canaries, weak source] in
                switch change {
                case .another: source?.setEventHandler { log.append("another") }
                case .none: source?.setEventHandler(handler: nil)
                case .cancel: source?.cancel()
                }
                log.append("first, \(canaries.count) alive")
                withExtendedLifetime(canary) {}
            }
        }
        source.setCancelHandler { log.append("cancelled") }
        source.schedule(deadline: start + .seconds(1), repeating: .seconds(1))
        source.activate()
        time.advance(by: .seconds(1))
        #expect(canaries.count == 0)
        time.advance(by: .seconds(2))
        let then = [Change.another: ["another", "another"], .none: [], .cancel: ["cancelled"]]
        #expect(log.all == ["first, 1 alive"] + then[change]!)
        source.cancel()
    }

    @Test("A handler that another thread replaces while it runs is called no more, and is freed when it has returned")
    func replacedByThread() async {
        let source = TimerSource(engine: engine)
        let (begun, replaced, ended) = (Latch(), Latch(), Latch())
        let log = Recorder<String>()
        do {
            let canary = canaries.make()
            source.setEventHandler {
                log.append("first")
                begun.open()
                replaced.wait()
                withExtendedLifetime(canary) {}
            }
        }
        source.schedule(deadline: start + .seconds(1), repeating: .seconds(1))
        source.activate()
        DispatchQueue.global().async { [time] in
            time.advance(by: .seconds(1))
            ended.open()
        }
        await begun.opened()
        source.setEventHandler { log.append("another") }
        #expect(canaries.count == 1)
        replaced.open()
        await ended.opened()
        #expect(canaries.count == 0)
        time.advance(by: .seconds(1))
        #expect(log.all == ["first", "another"])
        source.cancel()
    }

    @Test("A handler that is called again and again is the same one: nothing of it is freed before the source ends")
    func calledAgain() {
        let source = TimerSource(engine: engine)
        let calls = Recorder<Int>()
        do {
            let canary = canaries.make()
            source.setEventHandler { [canaries] in withExtendedLifetime(canary) { calls.append(canaries.count) } }
        }
        source.schedule(deadline: start + .seconds(1), repeating: .seconds(1))
        source.activate()
        for _ in 0..<100 { time.advance(by: .seconds(1)) }
        #expect(calls.all == Array(repeating: 1, count: 100))
        source.cancel()
        #expect(canaries.count == 0)
    }

    @Test("A handler that was taken away while its call waited for the queue may come back", arguments: [false, true])
    func handlerComesBack(isDelay: Bool) {
        let queue = DispatchQueue(label: "blocked")
        let source = TimerSource(engine: engine, queue: queue)
        let calls = Recorder<MonotonicInstant>()
        let handler: @Sendable () -> Void = { [time] in calls.append(time.now) }
        source.policy = isDelay ? .delay : .merge
        source.setEventHandler(handler: handler)
        queue.suspend()
        source.schedule(deadline: start, repeating: .seconds(1))
        source.activate()
        source.setEventHandler(handler: nil)
        queue.resume()
        queue.sync {}
        time.advance(by: .seconds(3))
        queue.sync {}
        #expect(calls.count == 0)
        source.setEventHandler(handler: handler)
        for _ in 0..<3 {
            time.advance(by: .seconds(1))
            queue.sync {}
        }
        #expect(calls.count >= 2)
        source.cancel()
    }

    @Test("A handler of an actor that is set while a call waits for the queue runs on the actor")
    @MainActor
    func handlerOfActor() async {
        let queue = DispatchQueue(label: "blocked")
        let source = TimerSource(engine: engine, queue: queue)
        let seen = Recorder<Bool>()
        source.setEventHandler {}
        queue.suspend()
        source.schedule(deadline: start)
        source.activate()
        source.setEventHandler { @MainActor in seen.append(MainQueue.isHeld) }
        queue.resume()
        while seen.count == 0 { await Task.yield() }
        #expect(seen.all == [true])
        source.cancel()
    }

    @Test("A jitter that is set while the thread spins up to a deadline loses no tick")
    func jitterInSpinWindow() throws {
        let engine = try TimerEngine(.init(precision: .precise, time: time.base))
        let source = TimerSource(engine: engine)
        let calls = Recorder<MonotonicInstant>()
        source.setEventHandler { [time] in calls.append(time.now) }
        source.schedule(deadline: start + .seconds(1), repeating: .seconds(1))
        source.jitter = .upTo(.microseconds(1), seed: 1)
        source.activate()
        let deadline = try #require(source.nextDeadline)
        time.advance(to: deadline - .microseconds(10))
        source.jitter = .upTo(.microseconds(1), seed: 2)
        time.advance(by: .milliseconds(500))
        #expect(calls.count == 1)
        // The grid has no delay in it, neither the former one nor the new one.
        source.jitter = nil
        #expect(source.nextDeadline == start + .seconds(2))
        time.advance(to: start + .seconds(2) - .microseconds(5))
        source.jitter = .upTo(.microseconds(1), seed: 3)
        time.advance(by: .milliseconds(500))
        #expect(calls.count == 2)
    }

    @Test("A cancelled source whose loop ends before its call is freed", arguments: [false, true])
    func loopEnds(endsFirst: Bool) {
        let loop = TimerLoop(time: time.base)
        for hasCancelHandler in [false, true] {
            let source = TimerSource(engine: engine, loop: loop)
            source.setEventHandler { [canary = canaries.make()] in withExtendedLifetime(canary) {} }
            if hasCancelHandler {
                source.setCancelHandler { [canary = canaries.make()] in withExtendedLifetime(canary) {} }
            }
            source.schedule(deadline: start)
            source.activate()
            time.advance(by: .zero)
            if !endsFirst { source.cancel() }
            if hasCancelHandler { loop.end() }
            if endsFirst { source.cancel() }
            if !hasCancelHandler, !endsFirst { loop.run(mode: .default, before: time.now) }
        }
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 0)
    }

    @Test("Deadlines at the end of time are counted without overflow")
    func extremes() {
        let source = TimerSource(engine: engine)
        let calls = Recorder<UInt>()
        source.setEventHandler { [weak source] in calls.append(source?.data ?? 0) }
        source.activate()
        for _ in 0..<3 {
            source.schedule(deadline: MonotonicInstant(nanoseconds: .min + 1), repeating: .nanoseconds(1))
            time.advance(by: .zero)
        }
        #expect(calls.count >= 3)
        source.cancel()
    }
}

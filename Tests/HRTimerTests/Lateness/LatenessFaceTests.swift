// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Tests of why calls of loops, sources, links, sleeps and ticks are late, on frozen time.
@Suite struct LatenessFaceTests {
    let time = ManualTime()
    let start: MonotonicInstant
    let reports = Recorder<LatenessReport>()

    init() { start = time.now }

    private func at(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }

    private func parts(_ report: LatenessReport?) -> [LatenessCause: Duration] {
        report?.byCause ?? [:]
    }

    private func timer(_ milliseconds: Int, _ handler: @escaping LoopTimer.Handler = { _ in }) -> LoopTimer {
        LoopTimer(fireAt: at(milliseconds), interval: .zero, repeats: false, block: handler)
    }

    @Test("A loop's timer is late because of another timer's handler")
    func loopHandler() {
        let loop = TimerLoop(time: time.base)
        loop.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        loop.add(timer(10) { [time] _ in time.advance(by: .milliseconds(4)) }, forMode: .default)
        loop.add(timer(11), forMode: .default)
        loop.run(until: at(20))
        #expect(reports.all.map(parts) == [[.handlerBefore: .milliseconds(3)]])
        #expect(loop.statistics.lateness.byCause == [.handlerBefore: .milliseconds(3)])
    }

    @Test("A slow block, a mode without the timer, and a loop that does not run are reported as a busy loop")
    func loopBusy() {
        let loop = TimerLoop(time: time.base)
        loop.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        loop.add(timer(10), forMode: .default)
        loop.perform { [time] in time.advance(by: .milliseconds(15)) }
        loop.run(until: at(20))
        #expect(reports.all.map { $0.mainCause } == [.loopBusy])
        #expect(reports.all[0].lateness == .milliseconds(5))
        #expect(reports.all[0].byCause[.loopBusy, default: .zero] >= .microseconds(4_980))

        loop.add(timer(30), forMode: .default)
        loop.add(timer(50), forMode: .modalPanel)
        loop.run(mode: .modalPanel, for: .milliseconds(30))
        loop.run(for: .milliseconds(1))
        #expect(reports.all[1].lateness == .milliseconds(15))
        #expect(reports.all[1].mainCause == .loopBusy)
        #expect(reports.all[1].byCause[.loopBusy, default: .zero] >= .microseconds(14_980))

        loop.add(timer(60), forMode: .default)
        time.advance(to: at(70))
        loop.run(for: .milliseconds(1))
        #expect(reports.all[2].mainCause == .loopBusy)
    }

    @Test("A source on its engine's thread that other handlers delay is reported to its own watch and its engine's")
    func sourceInline() throws {
        let engine = try TimerEngine(.init(name: "late", time: time.base))
        let ofEngine = Recorder<LatenessReport>()
        engine.onLate(beyond: .milliseconds(1)) { ofEngine.append($0) }
        let source = TimerSource(engine: engine)
        source.setEventHandler {}
        source.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        engine.schedule(at: at(10)) { [time] _ in time.advance(by: .milliseconds(5)) }
        source.schedule(deadline: at(12))
        source.activate()
        time.advance(to: at(20))
        #expect(reports.all.map(parts) == [[.handlerBefore: .milliseconds(3)]])
        #expect(reports.all[0].name == "source on late")
        #expect(ofEngine.all.map(parts) == [[.handlerBefore: .milliseconds(3)]])
    }

    @Test("A source's call that a blocked queue delays is late by its delivery, after what delayed the engine's thread")
    func delivery() throws {
        let queue = DispatchQueue(label: "blocked")
        let engine = try TimerEngine(.init(time: time.base))
        let ofEngine = Recorder<LatenessReport>()
        engine.onLate(beyond: .milliseconds(1)) { ofEngine.append($0) }
        let source = TimerSource(engine: engine, queue: queue)
        source.setEventHandler {}
        source.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        engine.schedule(at: at(10)) { [time] _ in time.advance(by: .milliseconds(2)) }
        source.schedule(deadline: at(10))
        queue.suspend()
        source.activate()
        time.advance(to: at(20))
        queue.resume()
        queue.sync {}
        #expect(reports.all.map(parts) == [[.handlerBefore: .milliseconds(2), .delivery: .milliseconds(8)]])
        #expect(ofEngine.all.map(parts) == reports.all.map(parts))
        source.cancel()
    }

    @Test("A source on a queue is late by its own handler if that takes longer than the interval")
    func ownHandler() throws {
        let queue = DispatchQueue(label: "slow")
        let source = TimerSource(engine: try TimerEngine(.init(time: time.base)), queue: queue)
        let calls = Recorder<MonotonicInstant>()
        source.setEventHandler { [time] in
            if calls.count == 0 { time.advance(by: .milliseconds(13)) }
            calls.append(time.now)
        }
        source.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        source.schedule(deadline: at(10), repeating: .milliseconds(10))
        source.activate()
        time.advance(to: at(10))
        queue.sync {}
        queue.sync {}
        #expect(calls.all == [at(23), at(23)])
        #expect(reports.all.map(parts) == [[.handlerBefore: .milliseconds(3)]])
        source.cancel()
    }

    @Test("A display link's call is late because of what its loop did")
    func link() {
        let loop = TimerLoop(time: time.base)
        let link = DisplayLink(framesPerSecond: 100) { _ in }
        link.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        loop.add(timer(9) { [time] _ in time.advance(by: .milliseconds(4)) }, forMode: .default)
        link.add(to: loop, forMode: .default)
        loop.run(until: at(25))
        #expect(reports.all.map(parts) == [[.handlerBefore: .milliseconds(3)]])
        #expect(reports.all[0].name == "display link")
        #expect(link.statistics.fires == 2)
        #expect(link.statistics.lateness.byCause == [.handlerBefore: .milliseconds(3)])
        link.invalidate()
    }

    @Test(
        "A link whose handler is on a busy main actor is late by its delivery, after what delayed its loop, and counts once",
        arguments: [0, 2] as [Int64]
    )
    @MainActor func linkOnActor(loopDelay: Int64) async {
        let loop = TimerLoop(time: time.base)
        let calls = Recorder<Int>()
        let link = DisplayLink(framesPerSecond: 100) { @MainActor _ in calls.append(1) }
        link.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        link.add(to: loop, forMode: .default)
        // The main actor's thread waits meanwhile, so that its call comes after the clock has advanced.
        let (time, first, later) = (time, at(13), at(14))
        if loopDelay > 0 {
            loop.add(timer(9) { _ in time.advance(by: .milliseconds(1 + loopDelay)) }, forMode: .default)
        }
        Self.onAnotherThread {
            loop.run(until: first)
            time.advance(to: later)
        }
        while calls.count == 0 { await Task.yield() }
        while reports.count == 0 { await Task.yield() }
        var expected = [LatenessCause.delivery: Duration.milliseconds(4 - loopDelay)]
        if loopDelay > 0 { expected[.handlerBefore] = .milliseconds(loopDelay) }
        #expect(reports.all.map(parts) == [expected])
        // The loop counts the call where it was made, and not where it was submitted.
        #expect(loop.statistics.lateness.byCause == expected)
        #expect(loop.statistics.lateness.lateFires == 1)
        link.invalidate()
    }

    private static func onAnotherThread(_ body: @escaping @Sendable () -> Void) {
        let hasEnded = DispatchSemaphore(value: 0)
        DispatchQueue(label: "a loop's").async {
            body()
            hasEnded.signal()
        }
        hasEnded.wait()
    }

    @Test("A tick is late by its consumer's work, and by the time until its task resumes")
    @MainActor func ticks() async throws {
        let engine = try TimerEngine(.init(time: time.base))
        let clock = MonotonicClock(engine: engine)
        let ticks = clock.ticks(every: .milliseconds(10), first: at(10))
        let ofEngine = Recorder<LatenessReport>()
        engine.onLate(beyond: .milliseconds(1)) { ofEngine.append($0) }
        ticks.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        let consumer = Task { @MainActor [time] in
            var count = 0
            for await _ in ticks {
                count += 1
                if count == 1 { time.advance(by: .milliseconds(9)) }
                if count == 2 { return }
            }
        }
        while engine.liveTimers != 1 { await Task.yield() }
        // There is no suspension here, so that the task, on the same actor, resumes after the clock has advanced.
        time.advance(to: at(10))
        time.advance(to: at(13))
        await consumer.value
        #expect(reports.all.map(parts) == [[.delivery: .milliseconds(3)], [.handlerBefore: .milliseconds(2)]])
        #expect(reports.all.map(\.name) == ["ticks", "ticks"])
        #expect(!reports.all.contains { $0.isThrottled })
        #expect(ticks.statistics.fires == 2)
        #expect(ticks.statistics.missedTicks == 0)
        #expect(
            ticks.statistics.lateness.byCause == [.delivery: .milliseconds(3), .handlerBefore: .milliseconds(2)]
        )
        // The second tick needed no sleep, so that the engine had no part in it.
        #expect(ofEngine.all.map(parts) == [[.delivery: .milliseconds(3)]])
    }

    @Test("A late sleep on a watched engine is reported too, when its task resumes")
    func sleep() async throws {
        let engine = try TimerEngine(.init(time: time.base))
        engine.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        engine.schedule(at: at(10)) { [time] _ in time.advance(by: .milliseconds(3)) }
        let sleeper = Task { [at = at(10)] in
            try await Task.sleep(until: at, tolerance: .zero, clock: MonotonicClock(engine: engine))
        }
        while engine.liveTimers != 2 { await Task.yield() }
        time.advance(to: at(10))
        try await sleeper.value
        #expect(reports.all.map(parts) == [[.handlerBefore: .milliseconds(3)]])
        #expect(reports.all.first?.name == "sleep")
    }

    @Test("A late sleep in a watched loop is reported once, as a sleep, with what kept the loop from it")
    func sleepInLoop() async throws {
        let loop = TimerLoop(time: time.base)
        loop.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        let sleeper = Task { [at = at(10)] in
            let plan = Sleeper.Plan(until: at.nanoseconds, tolerance: .zero)
            try await Sleeper.sleep(on: loop, plan)
        }
        while loop.limitInstant(forMode: .default) == nil { await Task.yield() }
        loop.add(timer(9) { [time] _ in time.advance(by: .milliseconds(4)) }, forMode: .default)
        time.advance(to: at(9))
        // Two passes: the sleep was not due yet when the first one began.
        Self.onAnotherThread {
            for _ in 1...2 { _ = loop.run(mode: .default, before: .distantPast) }
        }
        try await sleeper.value
        #expect(reports.all.map(parts) == [[.handlerBefore: .milliseconds(3)]])
        #expect(reports.all.map(\.name) == ["sleep"])
        #expect(loop.statistics.lateness.lateFires == 1)
    }
}

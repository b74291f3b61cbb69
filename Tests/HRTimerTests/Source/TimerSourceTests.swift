// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of what GCD documents for its timer source, and of what we do where GCD crashes. On frozen time.
@Suite struct TimerSourceTests {
    let time = ManualTime()
    let engine: TimerEngine
    let source: TimerSource
    let calls = Recorder<UInt>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        source = TimerSource(engine: engine)
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
    }

    private func start(_ interval: Duration? = .seconds(1)) {
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: interval)
        source.activate()
    }

    @Test("Nothing fires before activation, and the ticks before it are reported afterwards")
    func inactive() {
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
        time.advance(by: .milliseconds(3500))
        #expect(calls.count == 0)
        source.activate()
        source.activate()
        time.advance(by: .zero)
        #expect(calls.all == [3])
    }

    @Test("A repeating source fires on its grid, with data 1 when nothing was missed")
    func repeating() {
        start()
        time.advance(by: .seconds(5))
        #expect(calls.all == [1, 1, 1, 1, 1])
        #expect(source.data == 0)
    }

    @Test(
        "dispatch_suspend_timer: suspended from 3.5 to 6.5 s, a source makes 3 calls, one with data 3, and 3: 9 ticks"
    )
    func suspended() {
        start()
        time.advance(by: .milliseconds(3500))
        #expect(calls.all == [1, 1, 1])
        source.suspend()
        time.advance(by: .seconds(3))
        #expect(calls.count == 3)
        source.resume()
        time.advance(by: .zero)
        #expect(calls.all == [1, 1, 1, 3])
        time.advance(by: .seconds(3))
        #expect(calls.all == [1, 1, 1, 3, 1, 1, 1])
        #expect(calls.all.reduce(0, +) == 9)
    }

    @Test("A suspended source has no armed timer, so that it costs no wake-ups")
    func suspendedIsIdle() {
        start()
        source.suspend()
        #expect(time.nextDeadline == nil)
    }

    @Test("Suspensions are counted, and a surplus resume does nothing where GCD crashes")
    func balanced() {
        start()
        source.suspend()
        source.suspend()
        source.resume()
        time.advance(by: .seconds(2))
        #expect(calls.count == 0)
        for _ in 0..<5 { source.resume() }
        time.advance(by: .zero)
        #expect(calls.all == [2])
        source.suspend()
        time.advance(by: .seconds(2))
        #expect(calls.all == [2])
    }

    @Test("Resume activates a source that was never activated")
    func resumeActivates() {
        source.schedule(deadline: time.now)
        source.resume()
        time.advance(by: .zero)
        #expect(calls.all == [1])
    }

    @Test("A past deadline fires at once and counts every interval since, as GCD does")
    func pastDeadline() {
        source.schedule(deadline: time.now.advanced(by: .seconds(-5)), repeating: .seconds(1))
        source.activate()
        time.advance(by: .zero)
        #expect(calls.all == [6])
        time.advance(by: .seconds(1))
        #expect(calls.all == [6, 1])
    }

    @Test("The distant past means now, and the distant future means never until the source is rescheduled")
    func distant() {
        source.schedule(deadline: .distantPast, repeating: .seconds(1))
        source.activate()
        time.advance(by: .zero)
        #expect(calls.all == [1])
        source.schedule(deadline: .distantFuture, repeating: .seconds(1))
        time.advance(by: .seconds(100))
        #expect(calls.all == [1])
    }

    @Test("A source that fired once can be scheduled again")
    func onceAgain() {
        start(nil)
        time.advance(by: .seconds(10))
        #expect(calls.all == [1])
        source.schedule(deadline: time.now.advanced(by: .seconds(1)))
        time.advance(by: .seconds(10))
        #expect(calls.all == [1, 1])
    }

    @Test("Scheduling replaces deadline and interval, also from the handler")
    func reschedule() {
        let (source, time, calls) = (self.source, self.time, self.calls)
        source.setEventHandler { [weak source] in
            calls.append(1)
            if calls.count == 2 { source?.schedule(deadline: time.now.advanced(by: .seconds(10))) }
        }
        start()
        time.advance(by: .seconds(11))
        #expect(calls.count == 2)
        time.advance(by: .seconds(1))
        #expect(calls.count == 3)
        time.advance(by: .seconds(100))
        #expect(calls.count == 3)
    }

    @Test("A source moved later again and again fires once, at the last deadline, and wakes nothing before")
    func keepAlive() {
        source.activate()
        for step in 1...1000 {
            source.schedule(deadline: time.now.advanced(by: .seconds(30)))
            if step.isMultiple(of: 10) { time.advance(by: .milliseconds(1)) }
        }
        time.advance(by: .milliseconds(29_998))
        #expect(calls.count == 0)
        time.advance(by: .milliseconds(1))
        #expect(calls.all == [1])
        #expect(engine.lateness.count == 1)
        #expect(engine.statistics.fires == 1)
    }

    @Test(
        "Sources with equal deadlines fire in the order in which the engine learns of them, with a deferred move later",
        arguments: [true, false]
    )
    func orderOfScheduling(defersMoves: Bool) throws {
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.defersMoves = defersMoves
        let engine = try TimerEngine(configuration)
        let order = Recorder<String>()
        let moved = TimerSource(engine: engine)
        let fresh = TimerSource(engine: engine)
        moved.setEventHandler { order.append("moved") }
        fresh.setEventHandler { order.append("fresh") }
        moved.activate()
        fresh.activate()
        moved.schedule(deadline: time.now.advanced(by: .seconds(1)))
        moved.schedule(deadline: time.now.advanced(by: .seconds(2)))
        fresh.schedule(deadline: time.now.advanced(by: .seconds(2)))
        time.advance(by: .seconds(2))
        #expect(order.all == (defersMoves ? ["fresh", "moved"] : ["moved", "fresh"]))
    }

    @Test("A due source that another's handler moves or suspends is not called for the old deadline")
    func movedBetweenBatchAndCall() {
        let others = Recorder<String>()
        let moved = TimerSource(engine: engine)
        let suspended = TimerSource(engine: engine)
        let (source, time) = (self.source, self.time)
        source.setEventHandler { [calls] in
            calls.append(1)
            moved.schedule(deadline: time.now.advanced(by: .seconds(5)))
            suspended.suspend()
        }
        moved.setEventHandler { others.append("moved") }
        suspended.setEventHandler { others.append("suspended") }
        start(nil)
        for other in [moved, suspended] {
            other.schedule(deadline: time.now.advanced(by: .seconds(1)))
            other.activate()
        }
        time.advance(by: .seconds(4))
        #expect(calls.count == 1)
        #expect(others.count == 0)
        #expect(engine.lateness.count == 1)
        time.advance(by: .seconds(2))
        #expect(others.all == ["moved"])
        suspended.resume()
        time.advance(by: .zero)
        #expect(others.all == ["moved", "suspended"])
        source.setEventHandler(handler: nil)
    }

    @Test("After the engine's shutdown every method of a source does nothing, and its handlers are freed")
    func engineEnded() {
        let canaries = Canaries()
        do {
            let source = TimerSource(engine: engine)
            let canary = canaries.make()
            source.setEventHandler { withExtendedLifetime(canary) {} }
            source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
            source.activate()
            engine.shutdown()
            source.schedule(deadline: time.now)
            source.suspend()
            source.resume()
            time.advance(by: .seconds(2))
            source.cancel()
            source.schedule(deadline: time.now)
        }
        #expect(canaries.count == 0)
        #expect(engine.statistics.fires == 0)
    }

    @Test("A handler that overruns is called again at once, with the ticks it missed, and never recursively")
    func overrun() {
        let (source, time, calls) = (self.source, self.time, self.calls)
        let depth = Recorder<Int>()
        source.setEventHandler { [weak source] in
            depth.append(1)
            calls.append(source?.data ?? 0)
            if calls.count == 1 { time.advance(by: .milliseconds(2500)) }
            #expect(depth.count == calls.count)
        }
        start()
        time.advance(by: .seconds(1))
        #expect(calls.all == [1, 2])
        time.advance(by: .seconds(1))
        #expect(calls.all == [1, 2, 1])
    }

    @Test("A cancelled source has no further event, calls its cancel handler once, and frees everything")
    func cancel() {
        let canaries = Canaries()
        let canary = canaries.make()
        let cancelled = Recorder<Bool>()
        source.setCancelHandler { cancelled.append(true) }
        source.setEventHandler { [calls] in withExtendedLifetime(canary) { calls.append(1) } }
        start()
        time.advance(by: .seconds(1))
        source.cancel()
        source.cancel()
        #expect(source.isCancelled)
        time.advance(by: .seconds(5))
        #expect(calls.count == 1)
        #expect(cancelled.count == 1)
        #expect(engine.liveTimers == 0)
        source.schedule(deadline: time.now, repeating: .seconds(1))
        source.setEventHandler { Issue.record("a handler set after cancel was called") }
        source.activate()
        time.advance(by: .seconds(5))
    }

    @Test("The cancel handler runs after the event handler that cancelled has returned")
    func cancelInHandler() {
        let log = Recorder<String>()
        source.setCancelHandler { log.append("cancelled") }
        source.setEventHandler { [weak source] in
            source?.cancel()
            log.append("handled")
        }
        start()
        time.advance(by: .seconds(5))
        #expect(log.all == ["handled", "cancelled"])
        #expect(engine.liveTimers == 0)
    }

    @Test("Without a cancel handler and without a call on its way, cancel frees everything before it returns")
    func cancelFreesAtOnce() {
        let canaries = Canaries()
        do {
            let canary = canaries.make()
            source.setEventHandler { withExtendedLifetime(canary) {} }
        }
        start()
        #expect(canaries.count == 1)
        source.cancel()
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 0)
    }

    @Test("A source cancelled before activation calls its cancel handler; GCD would crash on release")
    func cancelInactive() {
        let cancelled = Recorder<Bool>()
        source.setCancelHandler { cancelled.append(true) }
        source.cancel()
        time.advance(by: .zero)
        #expect(cancelled.count == 1)
    }

    @Test("swift-corelibs-libdispatch#604: the last reference may be released in any state, where GCD traps")
    func releasedInAnyState() {
        let canaries = Canaries()
        for state in 0..<5 {
            let source = TimerSource(engine: engine)
            let canary = canaries.make()
            source.setEventHandler { withExtendedLifetime(canary) {} }
            source.setCancelHandler { Issue.record("the cancel handler was called without cancel, state \(state)") }
            source.schedule(deadline: time.now, repeating: .seconds(1))
            if state > 0 { source.activate() }
            if state > 1 { source.suspend() }
            if state > 2 { source.suspend() }
            if state > 3 { time.advance(by: .seconds(1)) }
        }
        time.advance(by: .seconds(5))
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 1)  // the suite's own source
    }

    @Test("Without a handler ticks are dropped")
    func noHandler() {
        source.setEventHandler(handler: nil)
        start()
        time.advance(by: .seconds(3))
        source.setEventHandler { [calls] in calls.append(1) }
        time.advance(by: .seconds(1))
        #expect(calls.count == 1)
    }

    @Test("Any interval and leeway is safe")
    func anyValue() {
        let durations: [Duration] = [.zero, .seconds(-1), .seconds(Int64.min), .seconds(Int64.max), .nanoseconds(1)]
        for interval in durations {
            for leeway in durations {
                source.schedule(deadline: time.now, repeating: interval, leeway: leeway)
                source.activate()
                time.advance(by: .nanoseconds(3))
            }
        }
        #expect(calls.count >= durations.count)
    }

    @Test("GCD's spellings: .never fires once, zero and negative intervals neither trap nor spin")
    func dispatchSpellings() {
        let now = DispatchTime(uptimeNanoseconds: UInt64(time.now.nanoseconds))
        source.activate()
        source.schedule(deadline: now, repeating: .never, leeway: .never)
        time.advance(by: .seconds(1))
        #expect(calls.all == [1])
        source.schedule(deadline: now + .seconds(2), repeating: .nanoseconds(-5), leeway: .nanoseconds(-5))
        time.advance(by: .seconds(1))
        time.advance(by: .microseconds(250))
        #expect(calls.count == 1 + 3)
        source.schedule(deadline: .distantFuture, repeating: .seconds(1))
        time.advance(by: .seconds(1))
        #expect(calls.count == 4)
    }
}

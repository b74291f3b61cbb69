// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of `activate`, `suspend` and `resume` in unusual orders, on frozen time.
@Suite struct SourceVerbTests {
    let time = ManualTime()
    let engine: TimerEngine
    let calls = Recorder<String>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
    }

    private func source(_ name: String) -> TimerSource {
        let source = TimerSource(engine: engine)
        source.setEventHandler { [calls] in calls.append(name) }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)))
        return source
    }

    @Test("A source suspended and resumed before activation fires once it is activated")
    func resumedBeforeActivation() {
        let source = source("a")
        source.suspend()
        source.resume()
        time.advance(by: .seconds(2))
        #expect(calls.count == 0)
        source.activate()
        time.advance(by: .zero)
        #expect(calls.all == ["a"])
    }

    @Test("A source suspended before activation waits for the resume that balances the suspend")
    func suspendedBeforeActivation() {
        let source = source("a")
        source.suspend()
        source.activate()
        time.advance(by: .seconds(2))
        #expect(calls.count == 0)
        source.resume()
        time.advance(by: .zero)
        #expect(calls.all == ["a"])
    }

    @Test("A surplus activate, resume, or suspend with its resume does not change the order among equal deadlines")
    func surplusKeepsOrder() {
        let (first, second) = (source("first"), source("second"))
        first.activate()
        second.activate()
        first.activate()
        first.resume()
        time.advance(by: .seconds(1))
        #expect(calls.all == ["first", "second"])
    }

    @Test("A deadline that the event handler sets holds under every policy", arguments: MissedTickPolicy.allCases)
    func scheduledInHandler(_ policy: MissedTickPolicy) {
        let start = time.now
        let times = Recorder<Duration>()
        let source = TimerSource(engine: engine)
        source.policy = policy
        source.setEventHandler { [time, weak source] in
            times.append(start.duration(to: time.now))
            if times.count == 1 {
                source?.schedule(deadline: start.advanced(by: .seconds(13)), repeating: .seconds(10))
            } else if times.count == 2 {
                // It has passed when the handler returns.
                source?.schedule(deadline: start.advanced(by: .seconds(14)), repeating: .seconds(10))
                time.advance(by: .seconds(2))
            }
        }
        source.schedule(deadline: start.advanced(by: .seconds(10)), repeating: .seconds(10))
        source.activate()
        time.advance(by: .seconds(20))
        #expect(times.all == [.seconds(10), .seconds(13), .seconds(15)])
        source.cancel()
    }

    @Test("A policy that the event handler sets counts from the next call on", arguments: MissedTickPolicy.allCases)
    func policyInHandler(_ policy: MissedTickPolicy) {
        for next in MissedTickPolicy.allCases {
            let start = time.now
            let times = Recorder<Duration>()
            let source = TimerSource(engine: engine)
            source.policy = policy
            source.setEventHandler { [time, weak source] in
                times.append(start.duration(to: time.now))
                source?.policy = next
                if times.count == 1 { time.advance(by: .milliseconds(300)) }
            }
            source.schedule(deadline: start.advanced(by: .seconds(1)), repeating: .seconds(1))
            source.activate()
            time.advance(to: start.advanced(by: .seconds(2.5)))
            #expect(times.all == [.seconds(1), .milliseconds(policy == .delay ? 2300 : 2000)], "then \(next)")
            source.cancel()
        }
    }

    @Test(
        "A call elsewhere that finds no event handler is none; set later, one is called at the next of the grid",
        arguments: MissedTickPolicy.allCases
    )
    func handlerTakenFromCallElsewhere(_ policy: MissedTickPolicy) {
        let submitted = Recorder<@Sendable () -> Void>()
        let data = Recorder<UInt>()
        let source = TimerSource(engine: engine, target: .init { submitted.append($0) })
        source.policy = policy
        source.setEventHandler {}
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        time.advance(by: .seconds(1))
        source.setEventHandler(handler: nil)
        time.advance(by: .milliseconds(2500))
        submitted.all.last?()
        source.setEventHandler { [weak source] in data.append(source?.data ?? 0) }
        #expect(submitted.count == 1)
        time.advance(by: .milliseconds(500))
        submitted.all.last?()
        #expect(data.all == [1])
        source.cancel()
    }

    @Test("A cancel handler right after the event handler is a part of the call: whatever it takes, others wait")
    func slowCancelHandler() {
        let first = source("first")
        first.setEventHandler { [calls, weak first] in
            calls.append("first")
            first?.cancel()
        }
        first.setCancelHandler { [calls, time] in
            time.advance(by: .seconds(5))
            calls.append("cancelled")
        }
        let second = source("second")
        second.schedule(deadline: time.now.advanced(by: .seconds(2)))
        first.activate()
        second.activate()
        time.advance(by: .seconds(1))
        #expect(calls.all == ["first", "cancelled", "second"])
    }

    @Test("Cancelled when its precise call is already prepared, it calls its cancel handler when the clock is moved")
    func cancelledInSpinWindow() throws {
        let engine = try TimerEngine(.init(precision: .precise, time: time.base))
        let source = TimerSource(engine: engine)
        source.setEventHandler { [calls] in calls.append("event") }
        source.setCancelHandler { [calls] in calls.append("cancelled") }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)))
        source.activate()
        time.advance(by: .seconds(1) - .microseconds(1))
        source.cancel()
        #expect(calls.count == 0)
        time.advance(by: .zero)
        #expect(calls.all == ["cancelled"])
    }
}

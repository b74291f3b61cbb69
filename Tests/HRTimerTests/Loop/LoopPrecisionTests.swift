// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// What each precision does with tolerances. In manual time, in which all precisions are exact.
@Suite struct LoopPrecisionTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let calls = Recorder<Double>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func at(_ seconds: Double) -> MonotonicInstant {
        start.advanced(by: .nanoseconds(Int64((seconds * 1e9).rounded())))
    }

    private func timer(_ seconds: Double, tolerance: Double = 0, precision: TimerPrecision? = nil) -> LoopTimer {
        let timer = LoopTimer(fireAt: at(seconds), interval: .zero, repeats: false) { [calls, time, start] _ in
            calls.append(Double(time.now.nanoseconds - start.nanoseconds) / 1e9)
        }
        timer.tolerance = tolerance
        timer.precision = precision
        loop.add(timer, forMode: .default)
        return timer
    }

    @Test("A coalesced loop, which is the default, shares wake-ups inside tolerances; other precisions do not")
    func loops() {
        #expect(loop.precision == .coalesced)
        for (precision, expected) in [(.coalesced, [1.3, 1.3]), (.normal, [1, 1.3]), (.precise, [1, 1.3])]
            as [(TimerPrecision, [Double])]
        {
            let other = LoopPrecisionTests()
            other.loop.precision = precision
            _ = other.timer(1, tolerance: 0.4)
            _ = other.timer(1.3)
            other.loop.run()
            #expect(other.calls.all == expected, "\(precision)")
        }
    }

    @Test(
        "A timer of a higher precision does not use its tolerance in a coalesced loop",
        arguments: [.normal, .precise] as [TimerPrecision]
    )
    func timers(_ precision: TimerPrecision) {
        let exact = timer(1, tolerance: 0.4, precision: precision)
        _ = timer(1.1, tolerance: 0.4)
        _ = timer(1.3)
        #expect(exact.precision == precision)
        #expect(exact.tolerance == 0.4)
        loop.run()
        #expect(calls.all == [1, 1.3, 1.3])
    }

    @Test("A timer that asks for a lower precision than its loop has gets the loop's precision")
    func less() {
        loop.precision = .normal
        _ = timer(1, tolerance: 0.4, precision: .coalesced)
        _ = timer(1.3)
        loop.run()
        #expect(calls.all == [1, 1.3])
    }

    @Test("Setting the precision of a loop or of a timer affects waiting timers, in both directions")
    func setLater() {
        let first = timer(1, tolerance: 0.4)
        _ = timer(1.3)
        first.precision = .precise
        first.precision = nil
        loop.run(until: at(0.5))
        loop.precision = .normal
        loop.run(until: at(1))
        #expect(calls.all == [1])
        loop.precision = .coalesced
        _ = timer(2, tolerance: 0.4)
        _ = timer(2.2)
        loop.run()
        #expect(calls.all == [1, 1.3, 2.2, 2.2])
    }

    @Test("A precise timer fires once per deadline in its modes, also when starved, moved, removed and added again")
    func preciseLife() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { [calls, time, start] _ in
            calls.append(Double(time.now.nanoseconds - start.nanoseconds) / 1e9)
        }
        timer.precision = .precise
        loop.add(timer, forMode: .default)
        loop.run(until: at(2))
        loop.isKeptAlive = true
        loop.run(mode: .modalPanel, before: at(4.5))
        timer.fireInstant = at(4.75)
        loop.run(until: at(5))
        loop.remove(timer, forMode: .default)
        loop.run(until: at(7))
        loop.add(timer, forMode: .default)
        loop.run(until: at(7))
        timer.invalidate()
        loop.run(until: at(9))
        #expect(calls.all == [1, 2, 4.75, 7])
        #expect(loop.liveTimers == 0)
    }

    @Test("A precise loop that is woken while it spins goes on to the deadline, without passes that have nothing to do")
    func wokenInSpin() throws {
        loop.precision = .precise
        _ = timer(1)
        let other = try TimerEngine(.init(name: "other", time: time.base))
        other.schedule(at: at(1).advanced(by: .microseconds(-5))) { [loop] _ in loop.wakeUp() }
        let passes = Recorder<Int>()
        let observer = LoopObserver(activities: .beforeTimers) { [loop] _, _ in
            passes.append(0)
            if passes.count == 20 { loop.stop() }
        }
        loop.add(observer, forMode: .default)
        loop.run(until: at(2))
        #expect(calls.all == [1])
        #expect(passes.count < 5)
        other.shutdown()
    }

    @Test("The spin budget is clamped to 0 ... 1, and NaN counts as 0")
    func budget() {
        #expect(loop.spinBudget == nil)
        for (asked, expected) in [(0.5, 0.5), (7, 1), (-1, 0), (.infinity, 1), (.nan, 0)] as [(Double, Double)] {
            loop.spinBudget = asked
            #expect(loop.spinBudget == expected)
        }
    }
}

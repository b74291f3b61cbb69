import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// `LoopTimer.rearmable`, in manual time.
@Suite struct RearmableTimerTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let calls = Recorder<Duration>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func at(_ seconds: Int) -> MonotonicInstant { start.advanced(by: .seconds(seconds)) }

    private func make(fireAt point: MonotonicInstant = .distantFuture, again: Duration? = nil) -> LoopTimer {
        let timer = LoopTimer.rearmable(fireAt: point) { [calls, start, time] timer in
            calls.append(start.duration(to: time.now))
            if let again, calls.count < 3 { timer.fireInstant = time.now.advanced(by: again) }
        }
        loop.add(timer, forMode: .default)
        return timer
    }

    @Test("A rearmable timer fires once each time that it is armed, and stays valid")
    func armed() {
        let timer = make()
        loop.run(until: at(10))
        #expect(calls.all == [])
        timer.fireInstant = at(12)
        loop.run(until: at(20))
        #expect(calls.all == [.seconds(12)])
        #expect(timer.isValid && timer.fireInstant == .distantFuture)
        timer.fireInstant = at(15)
        loop.run(until: at(30))
        // An instant in the past fires at once.
        #expect(calls.all == [.seconds(12), .seconds(20)])
        timer.invalidate()
        #expect(!timer.isValid)
    }

    @Test("A rearmable timer that is armed in its own handler fires again each time")
    func inHandler() {
        let timer = make(fireAt: at(1), again: .seconds(2))
        loop.run(until: at(20))
        #expect(calls.all == [.seconds(1), .seconds(3), .seconds(5)])
        timer.invalidate()
    }

    @Test("A timer armed again before it fires uses the instant set last, and misses no tick by being late")
    func again() {
        let timer = make(fireAt: at(1))
        timer.fireInstant = at(5)
        timer.fireInstant = at(3)
        time.advance(by: .seconds(9))
        loop.run(until: at(20))
        #expect(calls.all == [.seconds(9)])
        #expect(timer.missedTicks == 0)
        timer.invalidate()
    }
}

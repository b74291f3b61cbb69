// SPDX-License-Identifier: Apache-2.0
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

    @Test("A rearmable timer has no interval of which a jitter or a phase could be a share: it fires when it is armed")
    func shareOfNothing() {
        for jitter in [Jitter.full, .share(0.5), .upTo(.milliseconds(1))] {
            let timer = make()
            timer.jitter = jitter
            let instant = time.now.advanced(by: .seconds(1))
            timer.fireInstant = instant
            calls.removeAll()
            loop.run(until: instant.advanced(by: .milliseconds(2)))
            #expect(calls.count == 1, "\(jitter)")
            timer.invalidate()
        }
        let timer = LoopTimer(fireAt: time.now, interval: .seconds(Double.infinity), repeats: true, phase: .random) {
            [calls] _ in
            calls.append(.zero)
        }
        loop.add(timer, forMode: .default)
        calls.removeAll()
        loop.run(until: time.now.advanced(by: .seconds(1)))
        #expect(calls.count == 1)
        timer.invalidate()
    }

    @Test("A rearmable timer armed for an instant of the wall clock fires when that clock reads it, and stays valid")
    func onWallClock() {
        let timer = LoopTimer.rearmable(fireAt: time.wallNow + .seconds(60)) { [calls, start, time] _ in
            calls.append(start.duration(to: time.now))
        }
        loop.add(timer, forMode: .default)
        loop.run(until: at(10))
        // 40 s of the 60 are left now, and 90 after the second step.
        time.setWall(to: time.wallNow + .seconds(10))
        loop.run(until: at(20))
        time.setWall(to: time.wallNow - .seconds(60))
        loop.run(until: at(100))
        #expect(calls.all == [])
        loop.run(until: at(200))
        #expect(calls.all == [.seconds(110)])
        #expect(timer.isValid)
        timer.fireInstant = at(250)
        loop.run(until: at(300))
        #expect(calls.all == [.seconds(110), .seconds(250)])
        timer.invalidate()
    }
}

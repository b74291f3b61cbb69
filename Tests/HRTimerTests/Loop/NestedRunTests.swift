// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Runs inside the handlers of other runs, and the time that passes in them: `CFRunLoop`'s rules. In manual time.
@Suite struct NestedRunTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func at(_ seconds: Double) -> MonotonicInstant {
        start.advanced(by: .nanoseconds(Int64((seconds * 1e9).rounded())))
    }

    private func note(_ name: String) {
        log.append("\(name) \(Double(time.now.nanoseconds - start.nanoseconds) / 1e9)")
    }

    @discardableResult
    private func timer(
        _ name: String,
        _ seconds: Double,
        every interval: Duration? = nil,
        policy: MissedTickPolicy = .mergeToGrid,
        modes: TimerLoop.Mode...,
        then block: @escaping LoopTimer.Handler = { _ in }
    ) -> LoopTimer {
        let timer = LoopTimer(
            fireAt: at(seconds),
            interval: interval ?? .zero,
            repeats: interval != nil,
            policy: policy
        ) { [self] timer in
            note(name)
            block(timer)
        }
        for mode in modes.isEmpty ? [.default] : modes { loop.add(timer, forMode: mode) }
        return timer
    }

    @Test("A nested run fires what is already due at once, and does not sleep first")
    func dueAlready() {
        timer("a", 1) { [self] _ in
            loop.run(until: at(10))
            note("nested run ends")
        }
        timer("b", 1)
        timer("c", 12)
        loop.run(until: at(11))
        #expect(log.all == ["a 1.0", "b 1.0", "nested run ends 10.0"])
    }

    @Test("A timer that is already due can stop the nested run that would wait for it")
    func dueAlreadyStops() {
        timer("a", 1) { [self] _ in
            loop.run()
            note("nested run ends")
        }
        timer("b", 1) { [loop] _ in loop.stop() }
        timer("c", 100)
        loop.run(until: at(2))
        #expect(log.all == ["a 1.0", "b 1.0", "nested run ends 1.0"])
    }

    @Test("A nested run in another mode takes no timer from the outer pass, even if that is the outer run's last")
    func otherMode() {
        timer("a", 1) { [self] _ in loop.run(mode: .modalPanel, before: at(1)) }
        timer("b", 1)
        timer("modal", 1, modes: .modalPanel)
        time.advance(by: .seconds(1))
        loop.run(until: .distantPast)
        #expect(log.all == ["a 1.0", "modal 1.0", "b 1.0"])
    }

    @Test("Timers that a nested run in another mode sleeps through fire in the outer run, in order of deadlines")
    func orderAfterNestedRun() {
        timer("a", 1) { [self] _ in loop.run(mode: .modalPanel, before: at(5)) }
        timer("first", 1)
        timer("late", 4)
        timer("early", 3)
        timer("modal", 9, modes: .modalPanel)
        loop.run(until: at(5.5))
        // `late` and `early` were not due yet when the pass of `a` began.
        #expect(log.all == ["a 1.0", "first 5.0", "early 5.0", "late 5.0"])
    }

    @Test(
        "Starved timers fire in order of deadlines, also those that were moved meanwhile, and starved bursts",
        arguments: [1, 100]
    )
    func starvedOrder(_ count: Int) {
        for index in 0..<count { timer("\(index)", 1) }
        let moved = timer("moved", 2)
        timer("burst", 1.5, every: .seconds(1), policy: .burst)
        timer("tracking", 60, modes: .eventTracking)
        loop.run(mode: .eventTracking, before: at(3))
        moved.fireInstant = at(4)
        timer("later", 3.5)
        loop.run(mode: .eventTracking, before: at(5))
        loop.run(until: .distantPast)
        #expect(log.all == (0..<count).map { "\($0) 5.0" } + ["burst 5.0", "later 5.0", "moved 5.0"])
        for _ in 0..<3 { loop.run(until: .distantPast) }
        #expect(Array(log.all.suffix(3)) == ["burst 5.0", "burst 5.0", "burst 5.0"])
    }

    @Test("A starved timer that is moved away and back fires after its equals, because it was armed again")
    func starvedMovedBack() {
        let first = timer("first", 2)
        timer("second", 2)
        timer("tracking", 60, modes: .eventTracking)
        loop.run(mode: .eventTracking, before: at(1))
        first.fireInstant = at(3)
        first.fireInstant = at(2)
        loop.run(mode: .eventTracking, before: at(4))
        loop.run(until: .distantPast)
        #expect(log.all == ["second 4.0", "first 4.0"])
    }

    @Test("20,000 starved timers cost a run in another mode nothing, and invalidating them takes at most linear time")
    func starvedCrowd() {
        let timers = (0..<20_000).map { index in
            let timer = LoopTimer(fireAt: at(1), interval: .zero, repeats: false) { [log] _ in log.append("\(index)") }
            loop.add(timer, forMode: .default)
            return timer
        }
        timer("tracking", 2, every: .microseconds(100), modes: .eventTracking)
        loop.run(mode: .eventTracking, before: at(3))
        #expect(log.count == 10_001)
        for timer in timers.shuffled().dropLast() { timer.invalidate() }
        loop.run(until: .distantPast)
        #expect(log.count == 10_002)
    }

    @Test("Lateness is judged when a timer's turn comes, and includes the time of earlier handlers in the pass")
    func judgedAtItsTurn() {
        let missed = Recorder<Int>()
        timer("slow", 1) { [time] _ in time.advance(by: .seconds(5)) }
        timer("tick", 1, every: .seconds(1)) { missed.append($0.missedTicks) }
        loop.run(until: at(8))
        #expect(log.all == ["slow 1.0", "tick 6.0", "tick 7.0", "tick 8.0"])
        #expect(missed.all == [5, 0, 0])
    }

    @Test("With .skip, a tick that is an interval or more late at its turn is left out, and counted with the next")
    func skippedAtItsTurn() {
        let missed = Recorder<Int>()
        timer("slow", 1) { [time] _ in time.advance(by: .seconds(5.5)) }
        timer("tick", 1, every: .seconds(1), policy: .skip) { missed.append($0.missedTicks) }
        loop.run(until: at(8))
        #expect(log.all == ["slow 1.0", "tick 7.0", "tick 8.0"])
        #expect(missed.all == [6, 0])
    }

    @Test("A call made by fire() has missed no ticks, and does not change the count of the loop's next call")
    func countByHand() {
        let missed = Recorder<Int>()
        let tick = timer("tick", 1, every: .seconds(1)) { [time, log] timer in
            missed.append(timer.missedTicks)
            if log.count == 2 { time.advance(by: .seconds(3)) }
        }
        time.advance(by: .seconds(3.5))
        loop.run(until: .distantPast)
        tick.fire()
        #expect(missed.all == [2, 0])
        loop.run(until: at(7))
        // The ticks at 4, 5 and 6 passed during the call by fire(). The call at 6.5 is for the first of them.
        #expect(missed.all == [2, 0, 2, 0])
    }

    @Test("A timer that an earlier handler adds to a mode fires in the pass, and one that it removes does not")
    func modesChangedInPass() {
        let out = timer("out", 1)
        let both = timer("both", 1)
        timer("first", 0.5) { [self] _ in
            time.advance(by: .seconds(1))
            loop.run(mode: .modalPanel, before: .distantPast)
            loop.add(both, forMode: .modalPanel)
            loop.run(mode: .modalPanel, before: .distantPast)
        }
        timer("modal", 9, modes: .modalPanel)
        timer("second", 1.25) { [loop] _ in loop.remove(out, forMode: .default) }
        loop.run(until: at(1.6))
        #expect(log.all == ["first 0.5", "both 1.5", "out 1.5", "second 1.5"])
        loop.remove(timer("gone", 1), forMode: .default)
        loop.run(until: at(2))
        #expect(log.count == 4)
    }
}

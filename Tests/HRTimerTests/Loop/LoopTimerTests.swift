// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// What `NSTimer` promises on Darwin. Where Foundation on Linux does otherwise, the test's name says so. In manual time.
@Suite struct LoopTimerTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    /// When the handler was called, in seconds since the start.
    let calls = Recorder<Double>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func seconds() -> Double { Double(time.now.nanoseconds - start.nanoseconds) / 1e9 }

    private func at(_ seconds: Double) -> MonotonicInstant {
        start.advanced(by: .nanoseconds(Int64((seconds * 1e9).rounded())))
    }

    private func timer(
        every interval: Duration,
        repeats: Bool = true,
        policy: MissedTickPolicy = .mergeToGrid,
        then block: @escaping LoopTimer.Handler = { _ in }
    ) -> LoopTimer {
        let timer = LoopTimer(timeInterval: interval, repeats: repeats, policy: policy) { [calls, self] timer in
            calls.append(seconds())
            block(timer)
        }
        loop.add(timer, forMode: .default)
        return timer
    }

    @Test("The first fire comes one interval after the timer was made (Foundation on Linux fires at once, #4712)")
    func firstFire() {
        let timer = timer(every: .seconds(1))
        loop.run(until: at(0.999_999_999))
        #expect(calls.all == [])
        loop.run(until: at(3))
        #expect(calls.all == [1, 2, 3])
        #expect(timer.isValid)
    }

    /// Returns the calls, in seconds since the start, of a timer of 100 ms that is added 50 ms after its first deadline.
    private func addedLate(_ timer: (MonotonicInstant) -> LoopTimer) -> [Double] {
        let start = time.now
        let timer = timer(start.advanced(by: .milliseconds(100)))
        time.advance(by: .milliseconds(150))
        loop.add(timer, forMode: .default)
        loop.run(until: start.advanced(by: .milliseconds(400)))
        timer.invalidate()
        return calls.all
    }

    @Test("A timer that is added after its first deadline fires at once and then on its grid, as in real time")
    func addedLate() {
        let calls = addedLate { first in
            LoopTimer(fireAt: first, interval: .milliseconds(100), repeats: true) { [self] _ in
                self.calls.append(seconds())
            }
        }
        #expect(calls == [0.15, 0.2, 0.3, 0.4])
    }

    @Test("A timer that is added late also fires at once if its deadline was set before, or is a date")
    func addedLateOtherwise() {
        let set = LoopTimerTests()
        let bySetting = set.addedLate { first in
            let timer = LoopTimer(fireAt: .distantFuture, interval: .milliseconds(100), repeats: true) { _ in
                set.calls.append(set.seconds())
            }
            timer.fireInstant = first
            return timer
        }
        #expect(bySetting == [0.15, 0.2, 0.3, 0.4])
        let dated = LoopTimerTests()
        let byDate = dated.addedLate { first in
            let wall_ns = dated.time.wallNow.nanoseconds + 100_000_000
            let date = Date(timeIntervalSince1970: Double(wall_ns / 1_000_000) / 1000)
            return LoopTimer(fireAt: date, interval: 0.1, repeats: true) { _ in
                dated.calls.append((dated.seconds() * 1000).rounded() / 1000)
            }
        }
        // A date is exact to 0.1 µs: the last call may be just beyond the end.
        #expect(byDate.prefix(3) == [0.15, 0.2, 0.3])
    }

    @Test("A timer that is added late also fires at once in virtual time that moves by itself, on every clock")
    func addedLateInVirtualTime() async throws {
        for isWall in [false, true] {
            let calls = Recorder<Int>()
            try await withManualTime { time in
                let start = time.now
                let block: LoopTimer.Block = { _ in calls.append(Int(start.duration(to: .now) / .milliseconds(1))) }
                let timer =
                    isWall
                    ? LoopTimer(
                        fireAt: WallInstant.now.advanced(by: .milliseconds(100)),
                        interval: .milliseconds(100),
                        repeats: true,
                        block: block
                    )
                    : LoopTimer(
                        fireAt: start.advanced(by: .milliseconds(100)),
                        interval: .milliseconds(100),
                        repeats: true,
                        block: block
                    )
                await time.advance(by: .milliseconds(150))
                let loop = TimerLoop()
                loop.add(timer, forMode: .default)
                Self.run(loop, until: start.advanced(by: .milliseconds(400)))
                timer.invalidate()
            }
            #expect(calls.all == [150, 200, 300, 400])
        }
    }

    private static func run(_ loop: TimerLoop, until limit: MonotonicInstant) { loop.run(until: limit) }

    @Test(
        "An instant that had passed when it was given counts as the time at which the timer is added"
    )
    func pastWhenGiven() {
        let start = time.now
        let timer = LoopTimer(
            fireAt: start.advanced(by: .milliseconds(-30)),
            interval: .milliseconds(100),
            repeats: true
        ) { [self] _ in calls.append(seconds()) }
        time.advance(by: .milliseconds(150))
        loop.add(timer, forMode: .default)
        loop.run(until: start.advanced(by: .milliseconds(400)))
        #expect(calls.all == [0.15, 0.25, 0.35])
    }

    @Test("A timer that does not repeat fires once, is valid inside its handler and invalid after it")
    func once() {
        let wasValid = Recorder<Bool>()
        let timer = timer(every: .seconds(1), repeats: false) { wasValid.append($0.isValid) }
        #expect(timer.interval == .zero)
        loop.run(until: at(5))
        #expect(calls.all == [1])
        #expect(wasValid.all == [true])
        #expect(!timer.isValid)
        #expect(loop.liveTimers == 0)
    }

    @Test("A timer with an instant fires then, and keeps the grid of that instant")
    func instant() {
        let timer = LoopTimer(fireAt: at(0.5), interval: .seconds(1), repeats: true) { [calls, self] _ in
            calls.append(seconds())
        }
        #expect(timer.fireInstant == at(0.5))
        loop.add(timer, forMode: .default)
        loop.run(until: at(3))
        #expect(calls.all == [0.5, 1.5, 2.5])
    }

    @Test("An instant in the past counts as now, for the grid too, and fires once", arguments: [-1.0, -1e9])
    func past(_ offset: Double) {
        let timer = LoopTimer(fireAt: at(offset), interval: .seconds(1), repeats: true) { [calls, self] _ in
            calls.append(seconds())
        }
        loop.add(timer, forMode: .default)
        loop.run(until: at(2.5))
        #expect(calls.all == [0, 1, 2])
    }

    @Test("distantFuture never fires, and a nearer instant resumes the timer")
    func paused() {
        let timer = timer(every: .seconds(1))
        timer.fireInstant = .distantFuture
        loop.run(until: at(10))
        #expect(calls.all == [])
        timer.fireInstant = at(10.5)
        loop.run(until: at(12))
        #expect(calls.all == [10.5, 11.5])
    }

    @Test(
        "An interval of zero or less repeats every 0.1 ms (Foundation on Linux fires once and dies)",
        arguments: [Duration.zero, .nanoseconds(-1), .seconds(-5), .nanoseconds(Int64.min)]
    )
    func nonpositiveInterval(_ interval: Duration) {
        let timer = timer(every: interval)
        loop.run(until: at(0.001))
        #expect(calls.count == 10)
        #expect(timer.interval == .microseconds(100))
    }

    @Test(
        "A timer that does not repeat, with an interval of zero or less, fires in the next pass",
        arguments: [Duration.zero, .seconds(-5)]
    )
    func nonpositiveOnce(_ interval: Duration) {
        _ = timer(every: interval, repeats: false)
        loop.run(until: start)
        #expect(calls.all == [0])
    }

    @Test(
        "A NaN interval makes an invalid timer (Foundation halts), infinity one that never fires; 1 ps counts as zero",
        arguments: [true, false]
    )
    func oddSeconds(repeats: Bool) {
        let nan = LoopTimer(timeInterval: .nan, repeats: repeats) { _ in }
        #expect(!nan.isValid)
        loop.add(nan, forMode: .default)
        #expect(loop.liveTimers == 0)
        nan.fire()
        nan.fireInstant = .now
        nan.tolerance = .nan

        let infinite = LoopTimer(timeInterval: .infinity, repeats: repeats) { [calls] _ in calls.append(0) }
        loop.add(infinite, forMode: .default)
        loop.run(until: at(1e9))
        #expect(calls.count == 0)
        infinite.invalidate()

        let tiny = LoopTimer(timeInterval: 1e-12, repeats: true) { _ in }
        #expect(tiny.interval == .microseconds(100))
    }

    @Test("Ticks missed while the handler is busy are merged into the next call on the grid, which counts them")
    func merged() {
        let missed = Recorder<Int>()
        let timer = timer(every: .seconds(1)) { [time, calls] timer in
            missed.append(timer.missedTicks)
            if calls.count == 1 { time.advance(by: .seconds(3.5)) }
        }
        loop.run(until: at(6))
        #expect(calls.all == [1, 5, 6])
        #expect(missed.all == [0, 3, 0])
        timer.invalidate()
    }

    @Test("A timer that is late by a million intervals fires once, then on the grid")
    func overslept() {
        _ = timer(every: .milliseconds(1))
        time.advance(by: .seconds(1000.0005))
        loop.run(until: at(1000.0025))
        #expect(calls.count == 3)
        #expect(calls.all == [1000.0005, 1000.001, 1000.002])
    }

    @Test("Each policy treats three missed ticks as its picture shows", arguments: MissedTickPolicy.allCases)
    func policies(_ policy: MissedTickPolicy) {
        let expected: [MissedTickPolicy: [Double]] = [
            .merge: [1, 4.5, 5, 6], .mergeToGrid: [1, 5, 6], .burst: [1, 4.5, 4.5, 4.5, 5, 6], .skip: [1, 5, 6],
            .delay: [1, 5.5],
        ]
        let timer = timer(every: .seconds(1), policy: policy) { [time, calls] _ in
            if calls.count == 1 { time.advance(by: .seconds(3.5)) }
        }
        loop.run(until: at(6.25))
        #expect(calls.all == expected[policy])
        #expect(timer.policy == policy)
    }

    @Test("Inside the handler fireInstant is the deadline fired for; setting it there replaces the next deadline")
    func movedInside() {
        let deadlines = Recorder<MonotonicInstant>()
        _ = timer(every: .seconds(1)) { [self, calls] timer in
            deadlines.append(timer.fireInstant)
            if calls.count == 2 { timer.fireInstant = at(2.25) }
        }
        loop.run(until: at(4))
        #expect(calls.all == [1, 2, 2.25, 3.25])
        #expect(deadlines.all == [at(1), at(2), at(2.25), at(3.25)])
    }

    @Test("A timer that does not repeat is invalid after its handler, even if the handler set a new instant")
    func onceMovedInside() {
        _ = timer(every: .seconds(1), repeats: false) { $0.fireInstant = .distantFuture }
        loop.run(until: at(5))
        #expect(calls.all == [1])
        #expect(loop.liveTimers == 0)
    }

    @Test("Setting fireInstant between fires starts a new grid; an instant in the past fires now")
    func moved() {
        let timer = timer(every: .seconds(1))
        timer.fireInstant = at(0.25)
        loop.run(until: at(1.5))
        #expect(calls.all == [0.25, 1.25])
        timer.fireInstant = .distantPast
        loop.run(until: at(2.75))
        #expect(calls.all == [0.25, 1.25, 1.5, 2.5])
    }

    @Test("An invalid timer reports the deadline that it fired for last (Foundation on Linux reports 2001)")
    func invalidFireInstant() {
        let timer = timer(every: .seconds(1))
        loop.run(until: at(2))
        timer.invalidate()
        #expect(timer.fireInstant == at(2))
        timer.fireInstant = at(9)
        #expect(timer.fireInstant == at(2))
    }

    @Test("fire() on a repeating timer does not change its schedule (WinObjC FireRepeat)")
    func fireRepeating() {
        let timer = timer(every: .seconds(1))
        loop.run(until: at(0.5))
        timer.fire()
        #expect(timer.isValid)
        loop.run(until: at(2))
        #expect(calls.all == [0.5, 1, 2])
    }

    @Test("fire() on a timer that does not repeat invalidates it (WinObjC FireOnce), and does nothing the second time")
    func fireOnce() {
        let timer = timer(every: .seconds(1), repeats: false)
        timer.fire()
        timer.fire()
        #expect(!timer.isValid)
        loop.run(until: at(2))
        #expect(calls.all == [0])
    }

    @Test("fire() works without a loop, and inside the timer's own handler")
    func fireAnywhere() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { [calls] timer in
            calls.append(0)
            if calls.count < 3 { timer.fire() }
        }
        timer.fire()
        #expect(calls.count == 3)
    }

    @Test("invalidate() inside the first call leaves it the only one (test_timerInvalidate), and may be repeated")
    func invalidateInside() {
        let timer = timer(every: .seconds(1)) {
            $0.invalidate()
            $0.invalidate()
        }
        loop.run(until: at(5))
        #expect(calls.all == [1])
        timer.invalidate()
        #expect(loop.liveTimers == 0)
    }

    @Test("A timer due in the same pass but invalidated by an earlier handler does not fire")
    func invalidatedInPass() {
        let later = Recorder<Int>()
        let second = LoopTimer(timeInterval: .seconds(1), repeats: false) { _ in later.append(2) }
        _ = timer(every: .seconds(1)) { _ in second.invalidate() }
        loop.add(second, forMode: .default)
        loop.run(until: at(1))
        #expect(calls.count == 1)
        #expect(later.all == [])
    }

    @Test("Timers due together, even 200, fire by deadline, and equal ones in the order of arming")
    func order() {
        let order = Recorder<Int>()
        for index in 0..<200 {
            let deadline = at(index % 2 == 0 ? 2 : 1)
            let timer = LoopTimer(fireAt: deadline, interval: .zero, repeats: false) { _ in order.append(index) }
            loop.add(timer, forMode: .default)
        }
        time.advance(by: .seconds(3))
        loop.run(until: time.now)
        let odd = Array(stride(from: 1, to: 200, by: 2))
        #expect(order.all == odd + Array(stride(from: 0, to: 200, by: 2)))
    }

    @Test("A timer that a handler adds and that is due at once fires in the next pass, not in this one")
    func addedInPass() {
        let order = Recorder<Int>()
        _ = timer(every: .seconds(1)) { [loop] _ in
            order.append(1)
            loop.add(LoopTimer(timeInterval: .zero, repeats: false) { _ in order.append(3) }, forMode: .default)
        }
        loop.add(LoopTimer(timeInterval: .seconds(1), repeats: false) { _ in order.append(2) }, forMode: .default)
        loop.run(until: at(1))
        #expect(order.all == [1, 2])
        loop.run(until: at(1))
        #expect(order.all == [1, 2, 3])
    }

    @Test("With tolerance, two timers share a wake-up inside both windows, never before a deadline (Linux: #5183)")
    func tolerance() {
        let first = timer(every: .seconds(1))
        first.tolerance = 0.4
        let second = LoopTimer(fireAt: at(1.3), interval: .zero, repeats: false) { [calls, self] _ in
            calls.append(seconds())
        }
        loop.add(second, forMode: .default)
        loop.run(until: at(2.5))
        #expect(calls.all == [1.3, 1.3, 2.4])
        #expect(first.fireInstant == at(3))
    }

    @Test("Tolerance is 0 by default and at most half the interval; negative values and NaN count as 0")
    func toleranceBounds() {
        let timer = timer(every: .seconds(1))
        #expect(timer.tolerance == 0)
        for (asked, expected) in [(0.25, 0.25), (9, 0.5), (.infinity, 0.5), (-1, 0), (.nan, 0)] {
            timer.tolerance = asked
            #expect(timer.tolerance == expected)
        }
    }

    @Test("timeInterval is 0 for a timer that does not repeat, whatever it was made with")
    func timeInterval() {
        #expect(LoopTimer(timeInterval: 0.3, repeats: true) { _ in }.timeInterval == 0.3)
        #expect(LoopTimer(timeInterval: 0.3, repeats: false) { _ in }.timeInterval == 0)
    }

    @Test("User information is there until the timer is invalid")
    func userInfo() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true, userInfo: "hello") { _ in }
        #expect(timer.userInfo as? String == "hello")
        timer.invalidate()
        #expect(timer.userInfo == nil)
    }
}

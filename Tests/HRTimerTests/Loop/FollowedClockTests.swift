// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Timers of a loop that follow the wall clock or boot time. In manual time.
@Suite struct FollowedClockTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let log = Recorder<Double>()

    init() {
        loop = TimerLoop(time: time.base)
        loop.isKeptAlive = true
        start = time.now
    }

    private func add<Instant: TimerInstant>(
        _ instant: Instant,
        every interval: Double? = nil,
        policy: MissedTickPolicy = .mergeToGrid,
        then body: @escaping @Sendable (LoopTimer) -> Void = { _ in }
    ) -> LoopTimer {
        let timer = LoopTimer(fireAt: instant, interval: interval ?? 0, repeats: interval != nil, policy: policy) {
            [log, time, start] timer in
            log.append(Double(start.duration(to: time.now).nanosecondsRoundedUp) / 1e9)
            body(timer)
        }
        loop.add(timer, forMode: .common)
        return timer
    }

    @Test("A timer on the wall clock fires when the clock reaches its instant, and then on its grid")
    func wall() {
        let timer = add(time.wallNow + .seconds(5), every: 2)
        #expect(timer.fireInstant == start + .seconds(5))
        #expect(timer.timeInterval == 2)
        #expect(loop.limitInstant(forMode: .default) == start + .seconds(5))
        loop.run(for: 10)
        #expect(log.all == [5, 7, 9])
        #expect(timer.fireInstant == start + .seconds(11))
        #expect("\(timer)" == "LoopTimer(every 2 s, due in 1 s, by wall, in common)")
    }

    @Test("A step of the wall clock, forward or back, moves the call with it")
    func steps() {
        let timer = add(time.wallNow + .seconds(10), every: 10)
        loop.run(for: 4)
        time.setWall(to: time.wallNow + .seconds(3))
        #expect(timer.fireInstant == start + .seconds(7))
        loop.run(for: 4)
        #expect(log.all == [7])
        time.setWall(to: time.wallNow - .seconds(5))
        loop.run(until: start + .seconds(30))
        #expect(log.all == [7, 22])
        // The ticks that a step passes make one call, which reports them.
        time.setWall(to: time.wallNow + .seconds(35))
        loop.run(until: start + .seconds(30))
        #expect(log.all == [7, 22, 30])
        #expect(timer.missedTicks == 3)
    }

    @Test("A timer on the boot-time clock counts the time for which the system was suspended")
    func boot() {
        let timer = add(time.bootTimeNow + .seconds(60))
        loop.run(for: 10)
        time.suspendSystem(for: .seconds(45))
        loop.run(for: 4)
        #expect(log.count == 0)
        loop.run(for: 10)
        #expect(log.all == [15])
        #expect(!timer.isValid)
    }

    @Test("A past instant counts as now, also for the grid, and a timer for the distant future never fires")
    func past() {
        let past = add(time.wallNow - .seconds(3600), every: 5)
        let never = add(WallInstant.distantFuture, every: 5)
        loop.run(for: 6)
        #expect(log.all == [0, 5])
        #expect(never.fireInstant == .distantFuture)
        past.invalidate()
        loop.run(for: 60)
        #expect(log.count == 2)
    }

    @Test("A timer that is moved on the loop's clock, or paused and resumed, follows its own clock from there")
    func moved() {
        let timer = add(time.wallNow + .seconds(5), every: 10)
        timer.fireInstant = .distantFuture
        loop.run(for: 20)
        #expect(log.count == 0)
        timer.fireInstant = start + .seconds(22)
        #expect(timer.fireInstant == start + .seconds(22))
        loop.run(for: 15)
        #expect(log.all == [22, 32])
        time.setWall(to: time.wallNow + .seconds(4))
        loop.run(for: 4)
        #expect(log.all == [22, 32, 38])
    }

    @Test("A timer on the wall clock that leaves late ticks out is called at the next one, with their count")
    func leftOut() {
        let timer = add(time.wallNow + .seconds(1), every: 2, policy: .skip)
        // The ticks at 1, 3 and 5 s pass while this handler runs.
        let late = LoopTimer(fireAt: start + .milliseconds(500)) { [time] _ in time.advance(by: .seconds(6)) }
        loop.add(late, forMode: .common)
        loop.run(for: 8)
        #expect(log.all == [7])
        #expect(timer.missedTicks == 3)
        loop.run(for: 2)
        #expect(log.all == [7, 9])
        #expect(timer.missedTicks == 0)
    }

    @Test("The timer's handler may move it, invalidate it, and let time pass")
    func inHandler() {
        let timer = add(time.wallNow + .seconds(1), every: 2) { [time, log] timer in
            #expect(timer.fireInstant == time.now)
            if log.count == 1 { time.advance(by: .seconds(5)) }
            if log.count == 2 { timer.fireInstant = time.now + .seconds(1) }
            if log.count == 3 { timer.invalidate() }
        }
        loop.run(for: 30)
        #expect(log.all == [1, 7, 8])
        #expect(!timer.isValid)
    }

    @Test("A timer removed from a loop can be added to another; once it is invalid, what it captured is freed")
    func another() {
        let canaries = Canaries()
        func capturing() -> LoopTimer {
            let canary = canaries.make()
            return add(time.wallNow + .seconds(5)) { _ in withExtendedLifetime(canary) {} }
        }
        let timer = capturing()
        loop.remove(timer, forMode: .common)
        loop.run(for: 10)
        #expect(log.count == 0)
        let other = TimerLoop(time: time.base)
        other.add(timer, forMode: .default)
        other.run()
        #expect(log.all == [10])
        capturing().invalidate()
        loop.run(for: 10)
        #expect(log.count == 1)
        #expect(canaries.count == 0)
        withExtendedLifetime(timer) {}
    }
}

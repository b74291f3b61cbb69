// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Running, modes and nesting, by the rules of `NSRunLoop` and `CFRunLoop`. In manual time.
@Suite struct RunTests {
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

    @discardableResult
    private func timer(
        _ name: String,
        every interval: Duration,
        repeats: Bool = true,
        modes: TimerLoop.Mode...,
        then block: @escaping LoopTimer.Handler = { _ in }
    ) -> LoopTimer {
        let timer = LoopTimer(timeInterval: interval, repeats: repeats) { [log] timer in
            log.append(name)
            block(timer)
        }
        for mode in modes.isEmpty ? [.default] : modes { loop.add(timer, forMode: mode) }
        return timer
    }

    @Test("A run with nothing to do returns at once, and run(mode:before:) returns false")
    func empty() {
        loop.run()
        loop.run(until: at(5))
        #expect(!loop.run(mode: .default, before: at(5)))
        #expect(time.now == start)
        #expect(loop.limitInstant(forMode: .default) == nil)
    }

    @Test("run(mode:before:) waits for its limit and returns true; timers do not end it (test_runLoopRunMode)")
    func limit() {
        timer("tick", every: .seconds(1)) { [log, loop] _ in log.append(loop.currentMode?.rawValue ?? "none") }
        #expect(loop.currentMode == nil)
        #expect(loop.run(mode: .default, before: at(2.5)))
        #expect(time.now == at(2.5))
        #expect(log.all == ["tick", "kCFRunLoopDefaultMode", "tick", "kCFRunLoopDefaultMode"])
        #expect(loop.currentMode == nil)
    }

    @Test("A run ends early when the last timer has fired, and still returns true (GNUstep general.m)")
    func lastTimer() {
        timer("once", every: .seconds(2), repeats: false)
        #expect(loop.run(mode: .default, before: at(5)))
        #expect(time.now == at(2))
        timer("again", every: .seconds(1), repeats: false)
        loop.run()
        #expect(time.now == at(3))
        #expect(log.all == ["once", "again"])
    }

    @Test("A past limit makes one pass, which fires what is due and does not wait", arguments: [-1.0, -1e9])
    func pastLimit(_ limit: Double) {
        timer("due", every: .seconds(1))
        time.advance(by: .seconds(1))
        loop.run(until: at(limit))
        #expect(log.all == ["due"])
        #expect(loop.run(mode: .default, before: .distantPast))
        #expect(time.now == at(1))
    }

    @Test("A loop can run neither in .common nor in a mode that nothing was added for")
    func impossibleModes() {
        timer("tick", every: .seconds(1), modes: .common)
        #expect(!loop.run(mode: .common, before: at(5)))
        #expect(!loop.run(mode: .init("never heard of"), before: at(5)))
        #expect(time.now == start)
    }

    @Test("A loop does not run on a thread other than its own")
    func otherThread() throws {
        let main = TimerLoop.main
        let other = try startThread { [log] in
            main.isKeptAlive = true
            if !main.run(mode: .default, before: .distantFuture) { log.append("refused") }
            main.isKeptAlive = false
        }
        pthread_join(other, nil)
        #expect(log.all == ["refused"])
    }

    @Test("Timers fire in the modes they were added for and in no other")
    func modes() {
        timer("default", every: .seconds(1))
        timer("tracking", every: .seconds(1), modes: .eventTracking)
        #expect(loop.run(mode: .eventTracking, before: at(1.5)))
        #expect(log.all == ["tracking"])
    }

    @Test("A timer that another mode starves fires once when its own mode runs again, then on its grid")
    func starvation() {
        timer("default", every: .seconds(1)) { [self] _ in log.append("\(time.now == at(5.5))") }
        timer("tracking", every: .seconds(10), modes: .eventTracking)
        loop.run(mode: .eventTracking, before: at(5.5))
        #expect(log.all == [])
        loop.run(until: at(7))
        #expect(log.all == ["default", "true", "default", "false", "default", "false"])
    }

    @Test("Starved timers keep their order, also among many")
    func starvedOrder() {
        for index in 0..<100 { timer("\(index)", every: .seconds(1), repeats: false) }
        timer("tracking", every: .seconds(10), modes: .eventTracking)
        loop.run(mode: .eventTracking, before: at(5))
        loop.run(until: at(5))
        #expect(log.all == (0..<100).map(String.init))
    }

    @Test("A starved timer that is invalidated, or moved, does not catch up")
    func starvedThenChanged() {
        let invalidated = timer("invalidated", every: .seconds(1))
        let moved = timer("moved", every: .seconds(1))
        timer("tracking", every: .seconds(10), modes: .eventTracking)
        loop.run(mode: .eventTracking, before: at(5))
        invalidated.invalidate()
        moved.fireInstant = at(6)
        loop.run(until: at(5.5))
        #expect(log.all == [])
        loop.run(until: at(6))
        #expect(log.all == ["moved"])
    }

    @Test("A starved timer fires at once when it is added to the mode that is running")
    func modeAddedWhileStarved() {
        let starved = timer("starved", every: .seconds(1))
        timer("tracking", every: .seconds(2), repeats: false, modes: .eventTracking) { [loop] _ in
            loop.add(starved, forMode: .eventTracking)
        }
        loop.run(mode: .eventTracking, before: at(2.5))
        #expect(log.all == ["tracking", "starved"])
    }

    @Test("A timer in several modes has one deadline, and makes one call in the mode that runs")
    func severalModes() {
        timer("tick", every: .seconds(1), modes: .default, .eventTracking, .default)
        loop.run(until: at(1))
        loop.run(mode: .eventTracking, before: at(2))
        loop.run(until: at(3))
        #expect(log.count == 3)
        #expect(loop.liveTimers == 1)
    }

    @Test(".common stands for all common modes, also those declared later (test_commonModes)")
    func common() {
        let timer = timer("tick", every: .seconds(1), modes: .common)
        #expect(loop.contains(timer, forMode: .default))
        #expect(!loop.contains(timer, forMode: .eventTracking))
        loop.run(until: at(1))
        #expect(!loop.run(mode: .eventTracking, before: at(2)))
        loop.addCommonMode(.eventTracking)
        #expect(loop.contains(timer, forMode: .eventTracking))
        loop.run(mode: .eventTracking, before: at(2))
        #expect(log.count == 2)
    }

    @Test("A mode that becomes common while it runs serves the common timers at once")
    func commonWhileRunning() {
        timer("common", every: .seconds(1), modes: .common)
        timer("custom", every: .seconds(1.5), repeats: false, modes: .init("custom")) { [loop] _ in
            loop.addCommonMode(.init("custom"))
        }
        loop.run(mode: .init("custom"), before: at(2))
        #expect(log.all == ["custom", "common", "common"])
    }

    @Test("A timer in more than 64 modes fires in each of them")
    func manyModes() {
        let tick = timer("tick", every: .seconds(1), modes: .init("mode 0"))
        for index in 1..<200 { loop.add(tick, forMode: .init("mode \(index)")) }
        for index in 1...200 {
            #expect(loop.run(mode: .init("mode \(index % 200)"), before: at(Double(index))))
        }
        #expect(log.count == 200)
        for index in 0..<199 { loop.remove(tick, forMode: .init("mode \(index)")) }
        #expect(!loop.run(mode: .init("mode 7"), before: at(300)))
        loop.remove(tick, forMode: .init("mode 199"))
        #expect(loop.liveTimers == 0)
        #expect(tick.isValid)
    }

    @Test("A timer belongs to one loop; adding it to another, or adding an invalid one, does nothing")
    func oneLoop() {
        let other = TimerLoop(time: time.base)
        let tick = timer("tick", every: .seconds(1))
        other.add(tick, forMode: .default)
        #expect(other.liveTimers == 0)
        other.remove(tick, forMode: .default)
        tick.invalidate()
        other.add(tick, forMode: .default)
        #expect(other.liveTimers == 0 && loop.liveTimers == 0)
    }

    @Test("A timer that is removed from its last mode stays valid, and can be added to another loop")
    func moveLoop() {
        let other = TimerLoop(time: time.base)
        let tick = timer("tick", every: .seconds(1))
        loop.remove(tick, forMode: .default)
        #expect(tick.isValid)
        other.add(tick, forMode: .default)
        other.run(until: at(2))
        #expect(log.count == 2)
    }

    @Test("A handler may move its timer to another loop, where the timer continues")
    func moveLoopInside() {
        let other = TimerLoop(time: time.base)
        timer("tick", every: .seconds(1)) { [loop] timer in
            loop.remove(timer, forMode: .default)
            other.add(timer, forMode: .default)
        }
        loop.run(until: at(5))
        #expect(time.now == at(1))
        other.run(until: at(3))
        #expect(log.count == 3)
    }

    @Test("At the end of time a loop neither traps nor spins for ever")
    func endOfTime() {
        timer("tick", every: .seconds(1))
        time.advance(to: .distantFuture)
        for _ in 0..<3 { loop.run(until: MonotonicInstant(nanoseconds: .max - 1)) }
        #expect(log.count == 1)
    }

    @Test("A nested run does not fire the timer whose handler runs it, fires others, and ignores the outer limit")
    func nested() {
        timer("outer", every: .seconds(1)) { [self] _ in
            log.append("(")
            loop.run(until: at(4.5))
            log.append(")")
        }
        timer("other", every: .seconds(2))
        loop.run(until: at(1.5))
        #expect(time.now == at(4.5))
        #expect(log.all == ["outer", "(", "other", "other", ")"])
    }

    @Test("A nested run does not fire the timer whose handler runs it, even one that is armed again (CFRunLoop)")
    func nestedRearmed() {
        timer("outer", every: .seconds(1)) { [self] timer in
            guard log.count == 1 else { return }
            timer.fireInstant = at(1.25)
            log.append("(")
            loop.run(until: at(1.5))
            log.append(")")
        }
        timer("keep", every: .seconds(100))
        loop.run(until: at(1.75))
        #expect(log.all == ["outer", "(", ")", "outer"])
    }

    @Test("A nested run fires the timers that the outer pass has taken and not yet fired")
    func nestedTakesOver() {
        timer("first", every: .seconds(1), repeats: false) { [self] _ in
            loop.run(until: at(1))
            log.append("back")
        }
        timer("second", every: .seconds(1), repeats: false)
        timer("keep", every: .seconds(100))
        loop.run(until: at(1))
        #expect(log.all == ["first", "second", "back"])
    }

    @Test("Timers that the nested run's mode does not serve are left for the outer run")
    func nestedInOtherMode() {
        timer("first", every: .seconds(1), repeats: false) { [self] _ in
            loop.run(mode: .modalPanel, before: at(2))
            log.append("back")
        }
        timer("second", every: .seconds(1), repeats: false)
        timer("modal", every: .seconds(1), repeats: false, modes: .modalPanel)
        timer("keep", every: .seconds(100), modes: .modalPanel, .default)
        loop.run(until: at(3))
        #expect(log.all == ["first", "modal", "back", "second"])
    }

    @Test("stop() ends only the innermost run, and has no effect when nothing runs")
    func stop() {
        loop.stop()
        timer("outer", every: .seconds(1), repeats: false) { [self] _ in
            #expect(loop.run(mode: .modalPanel, before: .distantFuture))
            log.append("nested ended")
        }
        timer("stopper", every: .seconds(2), repeats: false, modes: .modalPanel) { [loop] _ in loop.stop() }
        timer("stopper of all", every: .seconds(3), repeats: false) { [loop] _ in loop.stop() }
        timer("keep", every: .seconds(100), modes: .modalPanel, .default)
        loop.run()
        #expect(log.all == ["outer", "stopper", "nested ended", "stopper of all"])
    }

    @Test("A loop that is kept alive waits for its limit with nothing to do, in any mode")
    func keptAlive() {
        loop.isKeptAlive = true
        loop.run(until: at(5))
        #expect(time.now == at(5))
        #expect(loop.run(mode: .init("whatever"), before: at(6)))
        #expect(time.now == at(6))
        loop.isKeptAlive = false
        loop.run()
    }

    @Test("limitInstant is the earliest deadline of the mode, and runs no timer (Foundation fires what is due)")
    func limitInstant() {
        timer("late", every: .seconds(5))
        timer("soon", every: .seconds(1), modes: .common)
        timer("tracking", every: .milliseconds(1), modes: .eventTracking)
        #expect(loop.limitInstant(forMode: .default) == at(1))
        #expect(loop.limitInstant(forMode: .eventTracking) == at(0.001))
        time.advance(by: .seconds(2))
        #expect(loop.limitInstant(forMode: .default) == at(1))
        #expect(log.all == [])
        loop.perform(inModes: [.modalPanel]) {}
        #expect(loop.limitInstant(forMode: .modalPanel) == .distantFuture)
    }

    @Test("20,000 timers free what they captured: invalidated, fired, or left in a loop that is freed")
    func leaks() {
        let canaries = Canaries()
        do {
            let loop = TimerLoop(time: time.base)
            var kept: [LoopTimer] = []
            for index in 0..<20_000 {
                let canary = canaries.make()
                let timer = LoopTimer(
                    timeInterval: .milliseconds(index % 100 + 1),
                    repeats: index % 3 == 0,
                    userInfo: canary
                ) { _ in withExtendedLifetime(canary) {} }
                loop.add(timer, forMode: .default)
                if index % 3 == 1 { kept.append(timer) }
            }
            #expect(canaries.count == 20_000)
            kept.forEach { $0.invalidate() }
            #expect(canaries.count == 13_333)
            loop.run(until: at(0.1))
            #expect(canaries.count == 6667)
            #expect(loop.liveTimers == 6667)
        }
        #expect(canaries.count == 0)
    }
}

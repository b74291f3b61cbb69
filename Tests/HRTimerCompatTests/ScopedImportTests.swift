// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import Testing

import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer

/// An example of a file ported by scoped imports: it has Foundation's names and this library's types.
@Suite struct ScopedImportTests {
    @Test("Timer and RunLoop in this file are ours, although it imports all of Foundation")
    func names() {
        #expect(ObjectIdentifier(Timer.self) != ObjectIdentifier(Foundation.Timer.self))
        #expect(ObjectIdentifier(RunLoop.self) != ObjectIdentifier(Foundation.RunLoop.self))
        #expect(ObjectIdentifier(Timer.self) == ObjectIdentifier(LoopTimer.self))
        #expect(ObjectIdentifier(RunLoop.self) == ObjectIdentifier(TimerLoop.self))
    }

    @Test("A timer scheduled the way Foundation spells it fires on the current loop, one interval later")
    func scheduled() {
        let loop = RunLoop()
        let timer = Timer(timeInterval: 0.001, repeats: false) { timer in #expect(timer.isValid) }
        loop.add(timer, forMode: .common)
        loop.run()
        #expect(!timer.isValid)
    }

    private final class Clock: Sendable {
        let ticks = Recorder<Bool>()
        func tick(_ timer: Timer) { ticks.append(timer.isValid) }
    }

    @Test("A timer calls the method that is given as its selector, however it is made")
    func selectors() {
        let clock = Clock()
        let date = Date(timeIntervalSinceNow: 3600)
        let timers = [
            Timer(timeInterval: 3600, target: clock, selector: Clock.tick, userInfo: nil, repeats: true),
            Timer(fireAt: date, interval: 3600, target: clock, selector: Clock.tick, userInfo: nil, repeats: true),
            Timer.scheduledTimer(timeInterval: 3600, target: clock, selector: Clock.tick, userInfo: nil, repeats: true),
        ]
        for (number, timer) in timers.enumerated() {
            timer.fire()
            #expect(clock.ticks.count == number + 1)
            #expect(timer.timeInterval == 3600)
            timer.invalidate()
        }
    }

    @Test("acceptInput runs the loop once, as run(mode:before:) does, and not at all if there is nothing to do")
    func acceptInput() {
        let loop = RunLoop()
        let timer = Timer(timeInterval: 0.001, repeats: false) { _ in }
        loop.add(timer, forMode: .default)
        loop.acceptInput(forMode: .default, before: .distantPast)
        loop.acceptInput(forMode: .default, before: .distantFuture)
        #expect(!timer.isValid)
        loop.acceptInput(forMode: .default, before: .distantFuture)
    }
}

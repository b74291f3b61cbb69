// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTraits
import Testing

#if !PEERS
import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer
#endif

/// What programs do with run loops besides running timers. PeersTests compiles this file without the imports of HRTimerCompat.
@Suite(.serialized, .ownThread) private struct RunLoopStyleTests {
    @Test("Each thread has its own loop, and RunLoop.main is the main thread's loop on every thread")
    func loops() {
        let seen = Recorder<Bool>()
        let current = RunLoop.current
        let thread = Thread { seen.append(RunLoop.current !== RunLoop.main && RunLoop.current === RunLoop.current) }
        thread.start()
        for _ in 0..<2000 where seen.count == 0 { Thread.sleep(forTimeInterval: 0.005) }
        #expect(seen.all == [true])
        #expect(current === RunLoop.current)
    }

    @Test("A run with nothing to do returns false at once")
    func nothing() {
        let mode = RunLoop.Mode(rawValue: "of nothing")
        let start = Date()
        #expect(!RunLoop.current.run(mode: mode, before: Date(timeIntervalSinceNow: 30)))
        #expect(RunLoop.current.limitDate(forMode: mode) == nil)
        #expect(Date().timeIntervalSince(start) < 30)
    }

    @Test("Modes are equal if their names are, however they were made")
    func modes() {
        #expect(RunLoop.Mode("a") == RunLoop.Mode(rawValue: "a"))
        #expect(RunLoop.Mode("a") != RunLoop.Mode("b"))
        #expect(Set([RunLoop.Mode.default, .common, RunLoop.Mode("kCFRunLoopDefaultMode")]).count == 2)
    }

    @Test("Blocks are performed once each, in order, in the modes that they are for")
    func perform() {
        let log = Recorder<Int>()
        let mode = RunLoop.Mode("performing")
        let timer = Timer(timeInterval: 0.001, repeats: false) { _ in }
        RunLoop.current.add(timer, forMode: mode)
        RunLoop.current.perform(inModes: [mode]) { log.append(1) }
        RunLoop.current.perform(inModes: [mode, .default]) { log.append(2) }
        RunLoop.current.perform(inModes: [RunLoop.Mode("another")]) { log.append(3) }
        _ = RunLoop.current.run(mode: mode, before: Date(timeIntervalSinceNow: 0.01))
        _ = RunLoop.current.run(mode: mode, before: Date(timeIntervalSinceNow: 0.01))
        #expect(log.all == [1, 2])
        timer.invalidate()
    }

    @Test("A timer reports its interval, 0 if it does not repeat, and user information only if it was given some")
    func properties() {
        let once = Timer(timeInterval: 5, repeats: false) { _ in }
        let often = Timer(fire: Date(timeIntervalSinceNow: 50), interval: 5, repeats: true) { _ in }
        #expect(once.timeInterval == 0)
        #expect(often.timeInterval == 5)
        #expect(once.userInfo == nil)
        #expect(often.isValid)
        often.invalidate()
        often.invalidate()
        #expect(!often.isValid)
        often.fire()
    }
}

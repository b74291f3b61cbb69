// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTraits
import Testing

#if !PEERS
import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer
#endif

/// Uses timers and loops as a program written for Foundation does. PeersTests compiles this file without the imports of HRTimerCompat.
@Suite(.serialized, .ownThread) private struct FoundationStyleTests {
    @Test("A scheduled timer ticks three times and ends itself")
    func ticks() {
        let ticks = Recorder<Date>()
        let start = Date()
        let timer = Timer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { timer in
            ticks.append(Date())
            if ticks.count == 3 { timer.invalidate() }
        }
        #expect(timer.isValid)
        #expect(timer.timeInterval == 0.01)
        #expect(timer.tolerance == 0)
        RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.2))
        #expect(ticks.count == 3)
        #expect(ticks.all.last!.timeIntervalSince(start) >= 0.03 - 0.000_001)
        #expect(!timer.isValid)
    }

    @Test("A timer with a date reports that date, fires once in the loop it was added to, and is then invalid")
    func fireDate() {
        let fired = Recorder<Bool>()
        let date = Date(timeIntervalSinceNow: 0.02)
        // Foundation's timer is at times early by the precision that a date loses on another clock. Ours never is.
        let early = String(reflecting: Timer.self).hasPrefix("Foundation.") ? 0.001 : 0
        let timer = Timer(fire: date, interval: 0, repeats: false) { _ in fired.append(Date() >= date - early) }
        #expect(timer.fireDate == date)
        RunLoop.current.add(timer, forMode: .common)
        while timer.isValid, RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.5)) {}
        #expect(fired.all == [true])
    }

    @Test("A paused timer continues when it is given a nearer date")
    func pause() {
        let fired = Recorder<Int>()
        let timer = Timer(timeInterval: 0.01, repeats: true) { _ in fired.append(1) }
        timer.fireDate = .distantFuture
        RunLoop.current.add(timer, forMode: RunLoop.Mode.default)
        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.03))
        #expect(fired.count == 0)
        timer.fireDate = Date()
        _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.03))
        #expect(fired.count >= 1)
        timer.invalidate()
    }

    @Test("Modes have Core Foundation's names, blocks are performed, and the loop knows its mode")
    func modes() {
        #expect(RunLoop.Mode.default.rawValue == "kCFRunLoopDefaultMode")
        #expect(RunLoop.Mode.common.rawValue == "kCFRunLoopCommonModes")
        #expect(RunLoop.current.currentMode == nil)
        let custom = RunLoop.Mode("custom")
        let seen = Recorder<RunLoop.Mode?>()
        let timer = Timer(timeInterval: 0.001, repeats: false) { _ in seen.append(RunLoop.current.currentMode) }
        RunLoop.current.add(timer, forMode: custom)
        RunLoop.current.perform(inModes: [custom], block: { seen.append(nil) })
        _ = RunLoop.current.run(mode: custom, before: Date(timeIntervalSinceNow: 0.02))
        #expect(Set(seen.all) == [nil, custom])
        let limit = Timer(fire: Date(timeIntervalSinceNow: 100), interval: 0, repeats: false) { _ in }
        RunLoop.current.add(limit, forMode: custom)
        let difference = RunLoop.current.limitDate(forMode: custom)?.timeIntervalSince(limit.fireDate) ?? 9
        #expect(abs(difference) < 0.01)
        limit.invalidate()
    }

    @Test("fire() calls the handler at once, and a timer that does not repeat is invalid afterwards")
    func fire() {
        let fired = Recorder<Int>()
        let timer = Timer(timeInterval: 100, repeats: false) { timer in fired.append(timer.isValid ? 1 : 0) }
        timer.tolerance = 10
        timer.fire()
        timer.fire()
        #expect(fired.all == [1])
        #expect(!timer.isValid)
    }
}

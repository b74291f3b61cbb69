import Dispatch
import TestTraits
import Testing

import enum HRTimerCompat.DispatchSource
import class HRTimerCompat.DispatchSourceTimer

/// Spellings that Dispatch still accepts. The tests call them through this protocol because they are deprecated.
private protocol OldSource: AnyObject {
    func scheduleOneshot(deadline: DispatchTime, leeway: DispatchTimeInterval)
    func scheduleOneshot(wallDeadline: DispatchWallTime, leeway: DispatchTimeInterval)
    func scheduleRepeating(deadline: DispatchTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
    func scheduleRepeating(deadline: DispatchTime, interval: Double, leeway: DispatchTimeInterval)
    func scheduleRepeating(wallDeadline: DispatchWallTime, interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
    func scheduleRepeating(wallDeadline: DispatchWallTime, interval: Double, leeway: DispatchTimeInterval)
}

extension DispatchSourceTimer: OldSource {}

@Suite(.hangLimit) private struct OldSpellingTests {
    @Test("Dispatch's spellings from before Swift 4 schedule once or repeatedly, on both clocks")
    func schedules() {
        let queue = DispatchQueue(label: "old")
        let source = DispatchSource.makeTimerSource(queue: queue)
        let fired = DispatchSemaphore(value: 0)
        source.setEventHandler { fired.signal() }
        source.activate()
        let none = DispatchTimeInterval.nanoseconds(0)
        let old: any OldSource = source
        let ways: [(times: Int, begin: () -> Void)] = [
            (1, { old.scheduleOneshot(deadline: .now(), leeway: none) }),
            (1, { old.scheduleOneshot(wallDeadline: .now(), leeway: none) }),
            (3, { old.scheduleRepeating(deadline: .now(), interval: .milliseconds(1), leeway: none) }),
            (3, { old.scheduleRepeating(deadline: .now(), interval: 0.001, leeway: none) }),
            (3, { old.scheduleRepeating(wallDeadline: .now(), interval: .milliseconds(1), leeway: none) }),
            (3, { old.scheduleRepeating(wallDeadline: .now(), interval: 0.001, leeway: none) }),
        ]
        for way in ways {
            source.schedule(deadline: .distantFuture)
            queue.sync {}
            while fired.wait(timeout: .now()) == .success {}
            way.begin()
            for _ in 0..<way.times { #expect(fired.wait(timeout: .now() + 60) == .success) }
        }
        source.cancel()
    }

    @Test("A source made without a queue calls its handlers on a global one; its mask shows strictness until cancelled")
    func defaults() {
        let source: DispatchSourceTimer = DispatchSource.makeTimerSource(flags: .strict)
        let done = DispatchSemaphore(value: 0)
        source.setEventHandler {
            dispatchPrecondition(condition: .onQueue(.global()))
            done.signal()
        }
        source.schedule(deadline: .now())
        #expect(done.wait(timeout: .now() + 0.01) == .timedOut)
        source.activate()
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(source.mask == 1 && source.handle == 0)
        source.cancel()
        #expect(source.mask == 0)
        #expect(DispatchSource.makeTimerSource().mask == 0)
    }
}

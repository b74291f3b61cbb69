// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// `.common` is a set of modes, as it is for `CFRunLoopAddTimer`, `CFRunLoopRemoveTimer` and `CFRunLoopAddCommonMode`. Triggers,
/// observers and blocks behave like timers. In manual time.
@Suite struct CommonModeTests {
    let time = ManualTime()
    let loop: TimerLoop

    init() {
        loop = TimerLoop(time: time.base)
        loop.addCommonMode(.eventTracking)
    }

    /// A timer, a trigger and an observer, which must always be in the same modes.
    private struct Three {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in }
        let trigger = LoopTrigger { _ in }
        let observer = LoopObserver { _, _ in }

        func add(_ loop: TimerLoop, _ mode: TimerLoop.Mode) {
            loop.add(timer, forMode: mode)
            loop.add(trigger, forMode: mode)
            loop.add(observer, forMode: mode)
        }

        func remove(_ loop: TimerLoop, _ mode: TimerLoop.Mode) {
            loop.remove(timer, forMode: mode)
            loop.remove(trigger, forMode: mode)
            loop.remove(observer, forMode: mode)
        }

        func modes(_ loop: TimerLoop) -> [TimerLoop.Mode] {
            let all: [TimerLoop.Mode] = [.default, .eventTracking, .modalPanel, .common]
            let modes = all.filter { loop.contains(timer, forMode: $0) }
            #expect(all.filter { loop.contains(trigger, forMode: $0) } == modes)
            #expect(all.filter { loop.contains(observer, forMode: $0) } == modes)
            return modes
        }
    }

    @Test("An item added for .common and removed from one mode leaves only that mode (CFRunLoopRemoveTimer)")
    func removedFromOne() {
        let three = Three()
        three.add(loop, .common)
        three.remove(loop, .default)
        #expect(three.modes(loop) == [.eventTracking, .common])
        #expect(!loop.run(mode: .default, before: time.now))
        #expect(loop.run(mode: .eventTracking, before: time.now))
    }

    @Test("Removing an item from .common removes it from all common modes, even added ones (CFRunLoopRemoveTimer)")
    func removedFromCommon() {
        let three = Three()
        three.add(loop, .default)
        three.add(loop, .modalPanel)
        three.add(loop, .common)
        three.remove(loop, .common)
        #expect(three.modes(loop) == [.modalPanel])
    }

    @Test("An item not added for .common is not removed from it (CFRunLoopRemoveTimer looks among the common items)")
    func notCommon() {
        let three = Three()
        three.add(loop, .default)
        three.remove(loop, .common)
        #expect(three.modes(loop) == [.default])
    }

    @Test("A mode that becomes common gets the common items, even those in no mode any more (CFRunLoopAddCommonMode)")
    func madeCommonLater() {
        let three = Three()
        three.add(loop, .common)
        three.remove(loop, .default)
        three.remove(loop, .eventTracking)
        #expect(three.modes(loop) == [.common])
        #expect(!loop.run(mode: .eventTracking, before: time.now))
        loop.addCommonMode(.modalPanel)
        loop.addCommonMode(.modalPanel)
        #expect(three.modes(loop) == [.modalPanel, .common])
        #expect(loop.run(mode: .modalPanel, before: time.now))
        three.remove(loop, .common)
        #expect(three.modes(loop) == [])
        #expect(loop.liveTimers == 0)
        #expect(!loop.run(mode: .modalPanel, before: time.now))
    }

    @Test("Counts stay right through all changes: removed items keep no mode running", arguments: [false, true])
    func counts(isInvalidated: Bool) {
        let three = Three()
        three.add(loop, .default)
        three.add(loop, .common)
        let other = Three()
        other.add(loop, .common)
        loop.addCommonMode(.modalPanel)
        let third = Three()
        third.add(loop, .common)
        third.remove(loop, .modalPanel)
        if isInvalidated {
            for three in [three, other, third] {
                three.timer.invalidate()
                three.trigger.invalidate()
            }
        } else {
            for three in [three, other, third] { three.remove(loop, .common) }
        }
        for mode in [TimerLoop.Mode.default, .eventTracking, .modalPanel] {
            #expect(!loop.run(mode: mode, before: time.now))
        }
    }

    @Test("A block for .common runs in a mode that became common before the block's turn")
    func blocks() {
        let log = Recorder<String>()
        loop.perform(inModes: [.common]) { log.append("block") }
        loop.addCommonMode(.modalPanel)
        loop.run(mode: .modalPanel, before: time.now)
        #expect(log.all == ["block"])
    }

    @Test("A common timer that is due fires in a nested run, in a mode that an earlier handler made common")
    func madeCommonInPass() {
        let log = Recorder<String>()
        let common = LoopTimer(fireAt: time.now, interval: .zero, repeats: false) { _ in log.append("common") }
        let first = LoopTimer(fireAt: .distantPast, interval: .zero, repeats: false) { [loop] _ in
            log.append("first")
            loop.addCommonMode(.modalPanel)
            loop.run(mode: .modalPanel, before: .distantPast)
            log.append("nested run ends")
        }
        loop.add(first, forMode: .default)
        loop.add(common, forMode: .common)
        loop.run(until: .distantPast)
        #expect(log.all == ["first", "common", "nested run ends"])
    }

    @Test("A loop has more than 64 modes, with a timer in each, and some of them are common")
    func manyModes() {
        let modes = (0..<130).map { TimerLoop.Mode("mode \($0)") }
        let counts = Recorder<Int>()
        for (index, mode) in modes.enumerated() {
            let timer = LoopTimer(fireAt: time.now, interval: .zero, repeats: false) { _ in counts.append(index) }
            loop.add(timer, forMode: mode)
        }
        for mode in modes.suffix(3) { loop.addCommonMode(mode) }
        let common = LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in }
        loop.add(common, forMode: .common)
        #expect(loop.contains(common, forMode: modes[129]) && !loop.contains(common, forMode: modes[126]))
        loop.remove(common, forMode: modes[128])
        #expect(!loop.contains(common, forMode: modes[128]) && loop.contains(common, forMode: modes[127]))
        for mode in modes.reversed() { loop.run(mode: mode, before: .distantPast) }
        #expect(counts.all == Array((0..<130).reversed()))
    }
}

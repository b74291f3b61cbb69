// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HRTimerCompat
import TestTraits
import Testing

/// Core Foundation's functions, called the way ported code calls them.
@Suite(.serialized, .ownThread) struct CFRunLoopTests {
    @Test("CFRunLoopStop ends CFRunLoopRun from a timer, and CFRunLoopRunInMode from a performed block")
    func stop() {
        let loop = CFRunLoopGetCurrent()
        let calls = Recorder<String>()
        let timer = CFRunLoopTimerCreateWithHandler(
            kCFAllocatorDefault,
            CFAbsoluteTimeGetCurrent() + 0.005,
            0.005,
            0,
            0
        ) { timer in
            calls.append("timer")
            if calls.count == 2 {
                CFRunLoopTimerInvalidate(timer)
                CFRunLoopStop(loop)
            }
        }
        CFRunLoopAddTimer(loop, timer, .commonModes)
        #expect(loop.contains(timer, forMode: .defaultMode) && timer.timeInterval == 0.005)
        loop.isKeptAlive = true
        defer { loop.isKeptAlive = false }
        CFRunLoopRun()
        #expect(calls.all == ["timer", "timer"])
        #expect(!timer.isValid)
        CFRunLoopPerformBlock(loop, CFRunLoopMode.commonModes.rawValue) {
            calls.append(loop.currentMode?.rawValue ?? "none")
            CFRunLoopStop(CFRunLoopGetCurrent())
        }
        CFRunLoopWakeUp(loop)
        #expect(CFRunLoopRunInMode(.defaultMode, 10, false) == .stopped)
        #expect(calls.all.last == "kCFRunLoopDefaultMode")
        #expect(CFRunLoopRunInMode(.defaultMode, 0, false) == .timedOut)
        #expect(loop.currentMode == nil && !loop.isWaiting)
    }

    @Test("An observer made with a handler sees its activities, given as bits of either type, until it is invalidated")
    func observer() {
        let loop = CFRunLoopGetCurrent()
        let told = Recorder<CFRunLoopActivity>()
        let bits = CFRunLoopActivity.entry.rawValue | CFRunLoopActivity.exit.rawValue
        let observer = CFRunLoopObserverCreateWithHandler(kCFAllocatorDefault, bits, true, 0) { _, activity in
            told.append(activity)
        }
        CFRunLoopAddObserver(loop, observer, .defaultMode)
        #expect(loop.contains(observer, forMode: .defaultMode))
        CFRunLoopPerformBlock(loop, .defaultMode) {}
        CFRunLoopRunInMode(.defaultMode, 0, false)
        #expect(told.all == [.entry, .exit])
        CFRunLoopRemoveObserver(loop, observer, .defaultMode)
        CFRunLoopObserverInvalidate(observer)
        #expect(!observer.isValid)
        let all = CFRunLoopObserverCreateWithHandler(nil, UInt(CFRunLoopActivity.allActivities.rawValue), false, 0) {
            _,
            _ in
        }
        #expect(all.activities == .all)
    }

    @Test("A timer's next date can be set and read back; functions that are given nil do nothing")
    func dates() {
        let loop = CFRunLoopGetCurrent()
        let fired = Recorder<Double>()
        let timer = CFRunLoopTimerCreateWithHandler(nil, CFAbsoluteTimeGetCurrent() + 1000, 0, 0, 0) { _ in
            fired.append(CFAbsoluteTimeGetCurrent())
        }
        CFRunLoopAddTimer(loop, timer, .defaultMode)
        timer.tolerance = 0.001
        let date = CFAbsoluteTimeGetCurrent() + 0.01
        CFRunLoopTimerSetNextFireDate(timer, date)
        #expect(abs(timer.fireDate.timeIntervalSinceReferenceDate - date) < 0.000_001)
        #expect(CFRunLoopRunInMode(.defaultMode, 20, false) == .finished)
        #expect(fired.count == 1 && fired.all[0] >= date - 0.000_001)
        CFRunLoopAddTimer(nil, timer, .defaultMode)
        CFRunLoopStop(nil)
        CFRunLoopTimerInvalidate(nil)
        CFRunLoopAddTimer(loop, nil, .defaultMode)
        #expect(timer.isValid == false)
    }

    @Test("CFRunLoopRunInMode returns after a source if it is asked to, and otherwise runs until its limit")
    func afterSource() {
        let loop = CFRunLoopGetCurrent()
        let trigger = LoopTrigger { _ in }
        loop.add(trigger, forMode: .defaultMode)
        trigger.signal()
        #expect(CFRunLoopRunInMode(.defaultMode, 10, true) == .handledSource)
        trigger.signal()
        #expect(CFRunLoopRunInMode(.defaultMode, 0.01, false) == .timedOut)
        trigger.invalidate()
    }
}

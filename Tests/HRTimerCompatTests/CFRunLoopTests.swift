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
        #expect(CFRunLoopContainsTimer(loop, timer, .defaultMode))
        #expect(CFRunLoopTimerDoesRepeat(timer) && CFRunLoopTimerGetInterval(timer) == 0.005)
        loop.isKeptAlive = true
        defer { loop.isKeptAlive = false }
        CFRunLoopRun()
        #expect(calls.all == ["timer", "timer"])
        #expect(!CFRunLoopTimerIsValid(timer))
        CFRunLoopPerformBlock(loop, CFRunLoopMode.commonModes.rawValue) {
            calls.append(CFRunLoopCopyCurrentMode(loop)?.rawValue ?? "none")
            CFRunLoopStop(CFRunLoopGetCurrent())
        }
        CFRunLoopWakeUp(loop)
        #expect(CFRunLoopRunInMode(.defaultMode, 10, false) == .stopped)
        #expect(calls.all.last == "kCFRunLoopDefaultMode")
        #expect(CFRunLoopRunInMode(.defaultMode, 0, false) == .timedOut)
        #expect(CFRunLoopCopyCurrentMode(loop) == nil && !CFRunLoopIsWaiting(loop))
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
        #expect(CFRunLoopContainsObserver(loop, observer, .defaultMode))
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
        CFRunLoopTimerSetTolerance(timer, 0.001)
        let date = CFAbsoluteTimeGetCurrent() + 0.01
        CFRunLoopTimerSetNextFireDate(timer, date)
        #expect(abs(CFRunLoopTimerGetNextFireDate(timer) - date) < 0.000_001)
        #expect(CFRunLoopRunInMode(.defaultMode, 20, false) == .finished)
        #expect(fired.count == 1 && fired.all[0] >= date - 0.000_001)
        CFRunLoopAddTimer(nil, timer, .defaultMode)
        CFRunLoopStop(nil)
        CFRunLoopTimerInvalidate(nil)
        #expect(!CFRunLoopTimerIsValid(nil) && !CFRunLoopContainsTimer(loop, nil, .defaultMode))
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

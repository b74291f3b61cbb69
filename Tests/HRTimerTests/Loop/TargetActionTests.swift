// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Target and action: a method of a target that the timer does not hold. In manual time.
@Suite struct TargetActionTests {
    final class Target: Sendable {
        let calls: Recorder<Int>
        init(_ calls: Recorder<Int>) { self.calls = calls }
        func tick(_ timer: LoopTimer) { calls.append(timer.userInfo as? Int ?? 0) }
    }

    let time = ManualTime()
    let calls = Recorder<Int>()

    @Test("Timers with a weak target call it as long as it is there, and hold it neither before nor after")
    func weakly() {
        for isThere in [true, false] {
            let loop = TimerLoop(time: time.base)
            let before = calls.count
            weak let target: Target?
            var kept: Target?
            do {
                let strong = Target(calls)
                target = strong
                kept = isThere ? strong : nil
                let timers = [
                    LoopTimer(timeInterval: .seconds(1), weakTarget: strong, action: Target.tick, repeats: false),
                    LoopTimer(timeInterval: 1, weakTarget: strong, action: Target.tick, userInfo: 1, repeats: false),
                ]
                for timer in timers { loop.add(timer, forMode: .default) }
            }
            #expect((target != nil) == isThere)
            loop.run()
            #expect(calls.count - before == (isThere ? 2 : 0))
            #expect(loop.liveTimers == 0)
            withExtendedLifetime(kept) {}
            kept = nil
            #expect(target == nil)
        }
        #expect(calls.all.sorted() == [0, 1])
    }

    @Test("A timer with a date has its policy and user information")
    func date() {
        let timer = LoopTimer(fireAt: .distantFuture, interval: 1, repeats: true, policy: .burst, userInfo: 4) { _ in }
        #expect(timer.policy == .burst)
        #expect(timer.userInfo as? Int == 4)
    }
}

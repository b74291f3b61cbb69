import FoundationEssentials
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Target and action in every way of making a timer. In manual time.
@Suite struct TargetActionTests {
    final class Target: Sendable {
        let calls: Recorder<Int>
        init(_ calls: Recorder<Int>) { self.calls = calls }
        func tick(_ timer: LoopTimer) { calls.append(timer.userInfo as? Int ?? 0) }
    }

    let time = ManualTime()
    let calls = Recorder<Int>()

    /// Returns a timer for each way of making one, with `target` held strongly and weakly.
    private func makers(_ target: Target) -> (strong: [LoopTimer], weak: [LoopTimer]) {
        let soon = time.now.advanced(by: .seconds(1))
        let date = Date(timeIntervalSinceNow: 1)
        let strong = [
            LoopTimer(timeInterval: .seconds(1), target: target, action: Target.tick, userInfo: 1, repeats: false),
            LoopTimer(timeInterval: 1, target: target, action: Target.tick, userInfo: 1, repeats: false),
            LoopTimer(
                fireAt: soon,
                interval: .zero,
                target: target,
                action: Target.tick,
                userInfo: 1,
                repeats: false
            ),
            LoopTimer(fireAt: date, interval: 0, target: target, action: Target.tick, userInfo: 1, repeats: false),
        ]
        let weak = [
            LoopTimer(timeInterval: .seconds(1), weakTarget: target, action: Target.tick, userInfo: 1, repeats: false),
            LoopTimer(timeInterval: 1, weakTarget: target, action: Target.tick, userInfo: 1, repeats: false),
            LoopTimer(
                fireAt: soon,
                interval: .zero,
                weakTarget: target,
                action: Target.tick,
                userInfo: 1,
                repeats: false
            ),
            LoopTimer(fireAt: date, interval: 0, weakTarget: target, action: Target.tick, userInfo: 1, repeats: false),
        ]
        return (strong, weak)
    }

    @Test(
        "By interval, instant or date, strong targets are called and then freed, and weak ones are called if alive"
    )
    func everyWay() {
        for isThere in [true, false] {
            let loop = TimerLoop(time: time.base)
            let before = calls.count
            weak let target: Target?
            var kept: Target?
            do {
                let strong = Target(calls)
                target = strong
                kept = isThere ? strong : nil
                let timers = makers(strong)
                for timer in timers.weak + (isThere ? timers.strong : []) { loop.add(timer, forMode: .default) }
            }
            #expect((target != nil) == isThere)
            loop.run()
            #expect(calls.count - before == (isThere ? 8 : 0))
            #expect(loop.liveTimers == 0)
            withExtendedLifetime(kept) {}
            kept = nil
            #expect(target == nil)
        }
        #expect(calls.all.allSatisfy { $0 == 1 })
    }

    @Test("Scheduled timers with a target are in the default mode of the thread's loop")
    func scheduled() throws {
        func schedule() {
            let target = Target(calls)
            LoopTimer.scheduled(timeInterval: .zero, target: target, action: Target.tick, userInfo: 2, repeats: false)
            LoopTimer.scheduled(
                timeInterval: .zero,
                weakTarget: target,
                action: Target.tick,
                userInfo: 3,
                repeats: false
            )
            TimerLoop.current.run()
            withExtendedLifetime(target) {}
        }
        schedule()
        #expect(calls.all.sorted() == [2, 3])
    }

    @Test("A timer with a date has its policy and user information")
    func date() {
        let timer = LoopTimer(fireAt: .distantFuture, interval: 1, repeats: true, policy: .burst, userInfo: 4) { _ in }
        #expect(timer.policy == .burst)
        #expect(timer.userInfo as? Int == 4)
    }
}

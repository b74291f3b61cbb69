import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Performs that do not retain their target. In manual time.
@Suite struct WeakPerformTests {
    let time = ManualTime()
    let loop: TimerLoop
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
    }

    final class Target: Sendable {
        let log: Recorder<String>
        init(_ log: Recorder<String>) { self.log = log }
        func save() { log.append("save") }
        func close() { log.append("close") }
        func say(_ words: String) { log.append(words) }
    }

    final class Argument: Sendable {}

    /// Requests one perform of each kind.
    private func perform(_ target: Target) {
        loop.perform(Target.save, weakTarget: target)
        loop.perform(Target.close, weakTarget: target, afterDelay: 0.5)
        loop.perform(Target.say, weakTarget: target, with: "words", afterDelay: .seconds(1))
    }

    @Test("Performs with a weak target that is alive run like those with a strong one")
    func comes() {
        let target = Target(log)
        perform(target)
        loop.run()
        #expect(log.all == ["save", "close", "words"])
        #expect(loop.liveTimers == 0)
        withExtendedLifetime(target) {}
    }

    @Test("A weak target that is released is freed at once, and nothing is called (NSObject retains it for the delay)")
    func dropped() {
        weak let target: Target?
        do {
            let strong = Target(log)
            target = strong
            perform(strong)
            #expect(loop.liveTimers == 2)
        }
        #expect(target == nil)
        loop.run()
        #expect(log.all == [])
        #expect(loop.liveTimers == 0)
    }

    @Test("A weak target that is freed between its performs gets only those before")
    func goes() {
        do {
            let strong = Target(log)
            perform(strong)
            loop.run(for: 0.7)
            #expect(log.all == ["save", "close"])
        }
        loop.run()
        #expect(log.all == ["save", "close"])
    }

    @Test("Requests with a weak target are cancelled by target and key, by the target alone, and by their timer")
    func takenBack() {
        let (one, other) = (Target(log), Target(log))
        for target in [one, other] {
            loop.perform(Target.save, weakTarget: target, key: "save")
            loop.perform(Target.close, weakTarget: target, key: "close")
            loop.perform(Target.save, weakTarget: target, key: "save", afterDelay: 1)
            loop.perform(Target.say, weakTarget: target, with: "words", key: "say", afterDelay: 1)
        }
        let timer = loop.perform(Target.close, weakTarget: one, key: "close", afterDelay: 1)
        loop.cancelPerforms(withTarget: one, key: "save")
        loop.cancelPerforms(withTarget: other)
        loop.cancelPreviousPerformRequests(withTarget: one, key: "save")
        loop.cancelPreviousPerformRequests(withTarget: other)
        timer.invalidate()
        loop.run()
        #expect(log.all == ["close", "words"])
    }

    @Test("The argument for a weak target is retained until the delay is over or the request is cancelled")
    func argument() {
        weak let argument: Argument?
        let target = Taker()
        do {
            let strong = Argument()
            argument = strong
            loop.perform(Taker.take, weakTarget: target, with: strong, afterDelay: 1)
        }
        #expect(argument != nil)
        loop.cancelPreviousPerformRequests(withTarget: target)
        #expect(argument == nil)
    }

    final class Taker: Sendable {
        func take(_ argument: Argument) {}
    }

    @Test("A loop that has ended makes no call to a weak target")
    func ended() throws {
        let target = Target(log)
        let held = try TimerLoop.thread(name: "weak-performs")
        held.shutdown()
        held.loop.perform(Target.save, weakTarget: target)
        #expect(!held.loop.perform(Target.close, weakTarget: target, afterDelay: 0).isValid)
        #expect(log.all == [])
    }
}

// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

/// Why runs end, what they perform until then, and what they count. In manual time.
@Suite struct RunResultTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private final class Target: Sendable {
        let log: Recorder<String>
        init(_ log: Recorder<String>) { self.log = log }
        func say(_ word: String) { log.append(word) }
        func sayNothing() { log.append("nothing") }
    }

    @Test("A run returns why it ended: finished, stopped, timed out, or a source handled")
    func why() {
        #expect(loop.run() == .finished)
        #expect(loop.run(for: 1) == .finished)
        loop.perform(afterDelay: 2) {}
        #expect(loop.run(for: 1) == .timedOut)
        #expect(loop.run(until: start + .seconds(1)) == .timedOut)
        #expect(loop.run() == .finished)
        loop.isKeptAlive = true
        loop.perform(afterDelay: 1) { [loop] in loop.stop() }
        #expect(loop.run() == .stopped)
        let trigger = LoopTrigger { [log] _ in log.append("trigger") }
        loop.add(trigger, forMode: .default)
        trigger.signal()
        #expect(loop.run(mode: .default, for: 3, returnsAfterSource: true) == .handledSource)
        trigger.signal()
        #expect(loop.run(mode: .default, for: 3) == .timedOut)
        #expect(log.count == 2)
        #expect(loop.run(mode: .common, for: 1) == .finished)
        #expect(time.now == start + .seconds(6))
    }

    @Test("A nested run returns why it ended, and the run around it returns its own reason")
    func nested() {
        let results = Recorder<TimerLoop.RunResult>()
        loop.isKeptAlive = true
        loop.perform(afterDelay: 1) { [loop] in
            loop.perform { loop.stop() }
            results.append(loop.run(for: 5))
            results.append(loop.run(for: 1))
        }
        results.append(loop.run(for: 10))
        #expect(results.all == [.stopped, .timedOut, .timedOut])
    }

    @Test("A block is performed after a delay in a mode, and can be cancelled")
    func performBlock() {
        loop.perform(afterDelay: .milliseconds(500)) { [log] in log.append("block") }
        loop.perform(afterDelay: 0.25, inModes: [.tracking]) { [log] in log.append("tracking") }
        let taken = loop.perform(afterDelay: 0.1) { [log] in log.append("taken back") }
        taken.invalidate()
        #expect(!loop.perform(afterDelay: 1, inModes: [TimerLoop.Mode]()) {}.isValid)
        #expect(loop.run() == .finished)
        #expect(log.all == ["block"])
        #expect(loop.run(mode: .tracking, for: 1) == .finished)
        #expect(log.all == ["block", "tracking"])
    }

    @Test("Blocks of a target are performed after their delays, and can be cancelled by target and key")
    func performArgument() {
        let target = Target(log)
        loop.perform(afterDelay: 0.5, for: target) { target.say("late") }
        loop.perform(afterDelay: .milliseconds(100), for: target) { target.say("early") }
        loop.perform(afterDelay: 0.2, for: target, key: "no") { target.say("never") }
        loop.perform(afterDelay: 0, for: target) { target.sayNothing() }
        loop.cancelPreviousPerformRequests(withTarget: target, key: "no")
        loop.run()
        #expect(log.all == ["nothing", "early", "late"])
        #expect(time.now == start + .milliseconds(500))
    }

    @Test("A caller that waits for a block continues when it was performed, or when it never will be")
    func performAndWait() async throws {
        let thread = try TimerLoop.thread(name: "test")
        let log = log
        let answers = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<[Bool], any Error>) in
            let asking = Result { () throws(TimerError) in
                try startThread {
                    var answers = [thread.loop.perform(waitUntilDone: true) { log.append("first") }]
                    log.append("second")
                    // On the loop's own thread a block is called at once.
                    answers.append(
                        thread.loop.perform(waitUntilDone: true) {
                            thread.loop.perform(waitUntilDone: true) { log.append("third") }
                            log.append("fourth")
                        }
                    )
                    answers.append(thread.loop.perform(inModes: [], waitUntilDone: true) { log.append("nowhere") })
                    thread.shutdown()
                    answers.append(thread.loop.perform(waitUntilDone: true) { log.append("too late") })
                    continuation.resume(returning: answers)
                }
            }
            switch asking {
            case .success(let thread): pthread_detach(thread)
            case .failure(let error): continuation.resume(throwing: error)
            }
        }
        #expect(log.all == ["first", "second", "third", "fourth"])
        #expect(answers == [true, true, false, false])
    }

    @Test("A loop counts its fires, the ticks they missed, the wake-ups they saved, and how late they were")
    func statistics() {
        #expect(loop.lateness.count == 0)
        #expect(loop.statistics.fires == 0)
        let tick = LoopTimer(timeInterval: 1, repeats: true) { [log, time] _ in
            log.append("tick")
            if log.count == 2 { time.advance(by: .milliseconds(2500)) }
        }
        loop.add(tick, forMode: .default)
        loop.run(until: start + .seconds(6.5))
        // Ticks at 1, 2 (whose handler lasts until 4.5), 5 and 6.
        #expect(log.count == 4)
        #expect(loop.statistics.fires == 4)
        #expect(loop.statistics.missedTicks == 2)
        #expect(loop.lateness.max == .zero)
        #expect(loop.lateness.count == 4)

        // The second one falls due while the first one's handler runs.
        tick.invalidate()
        let now = loop.now
        for offset in [100, 200] {
            let timer = LoopTimer(fireAt: now + .milliseconds(offset)) { [time] _ in
                time.advance(by: .milliseconds(300))
            }
            loop.add(timer, forMode: .default)
        }
        loop.run()
        #expect(loop.statistics.fires == 6)
        #expect(loop.lateness.max == .milliseconds(200))
        #expect(loop.statistics.wakeupsSaved == 0)
        #expect(loop.statistics.wakeups >= 4)
    }

    @Test("Deadlines that fire in one pass save wake-ups")
    func saved() {
        let now = time.now
        for offset in 1...3 {
            let timer = LoopTimer(fireAt: now + .milliseconds(offset)) { _ in }
            loop.add(timer, forMode: .default)
        }
        time.advance(by: .seconds(1))
        loop.run()
        #expect(loop.statistics.fires == 3)
        #expect(loop.statistics.wakeupsSaved == 2)
        #expect(loop.lateness.max == .milliseconds(999))
    }

    @Test(".tracking is a common mode from the start, as on iOS; .eventTracking and .modalPanel are not, as on macOS")
    func commonModes() {
        let timer = LoopTimer(timeInterval: 1, repeats: true) { [log, loop] _ in
            log.append(loop.currentMode?.rawValue ?? "")
        }
        loop.add(timer, forMode: .common)
        #expect(loop.contains(timer, forMode: .tracking))
        #expect(!loop.contains(timer, forMode: .eventTracking))
        #expect(!loop.contains(timer, forMode: .modalPanel))
        loop.run(mode: .tracking, for: 1)
        loop.run(for: 1)
        #expect(log.all == ["UITrackingRunLoopMode", "kCFRunLoopDefaultMode"])
        #expect(TimerLoop.Mode.modalPanel.rawValue == "NSModalPanelRunLoopMode")
        loop.remove(timer, forMode: .common)
        #expect(!loop.contains(timer, forMode: .tracking))
    }

    @Test("Descriptions contain what is needed for debugging")
    func descriptions() {
        let timer = LoopTimer(timeInterval: 0.1, repeats: true, tolerance: 0.01) { [log] timer in log.append("\(timer)")
        }
        #expect("\(timer)".hasSuffix("tolerance 10 ms, in no loop)"))
        loop.add(timer, forMode: .common)
        loop.add(timer, forMode: .modalPanel)
        let modes = "NSModalPanelRunLoopMode, common"
        #expect("\(timer)" == "LoopTimer(every 100 ms, due in 100 ms, tolerance 10 ms, in \(modes))")
        #expect("\(loop)" == "TimerLoop(does not run, 1 timer, due in 100 ms, coalesced)")
        time.advance(by: .milliseconds(150))
        #expect("\(timer)".contains("due since 50 ms"))
        loop.run(until: .distantPast)
        #expect(log.all == ["LoopTimer(every 100 ms, firing, tolerance 10 ms, in \(modes))"])
        timer.fireInstant = .distantFuture
        #expect("\(timer)".contains("never due"))
        timer.invalidate()
        #expect("\(timer)" == "LoopTimer(invalid)")
        let trigger = LoopTrigger { _ in }
        #expect("\(trigger)" == "LoopTrigger(order 0, not signalled)")
    }
}

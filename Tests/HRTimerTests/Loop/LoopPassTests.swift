// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// What happens in a pass of a loop, and what the loop reports meanwhile: `CFRunLoop`'s rules. In manual time.
@Suite struct LoopPassTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func at(_ seconds: Double) -> MonotonicInstant {
        start.advanced(by: .nanoseconds(Int64((seconds * 1e9).rounded())))
    }

    private func timer(_ seconds: Double, _ handler: @escaping LoopTimer.Handler = { _ in }) -> LoopTimer {
        let timer = LoopTimer(fireAt: at(seconds), interval: .zero, repeats: false, block: handler)
        loop.add(timer, forMode: .default)
        return timer
    }

    @Test("Activities have the numbers of CFRunLoopActivity, entry too (1; corelibs' Swift side has 0)")
    func activities() {
        let all: [LoopObserver.Activity] = [
            .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]
        #expect(all.map(\.rawValue) == [1, 2, 4, 32, 64, 128])
        #expect(LoopObserver.Activity.all.rawValue == 231)
    }

    // The queue returns at most 64 due timers at a time (`FiringCore.batchSize`).
    @Test("All timers that are due in one pass fire in it, in order", arguments: [1, 15, 16, 17, 32, 33, 64, 65, 80])
    func manyDue(count: Int) {
        for number in (0..<count).reversed() {
            _ = timer(1 + Double(number) / 1000) { [log] _ in log.append("\(number)") }
        }
        time.advance(to: at(2))
        let passes = Recorder<Int>()
        loop.add(LoopObserver(activities: .beforeTimers) { _, _ in passes.append(0) }, forMode: .default)
        loop.run(until: time.now)
        #expect(log.all == (0..<count).map { "\($0)" })
        #expect(passes.count == 1)
    }

    @Test("A run that finds nothing to run for has finished, and does not wait for its limit")
    func nothingToRun() {
        #expect(loop.run(until: at(1)) == .finished)
        #expect(time.now == start)
    }

    @Test("To stop a loop that does not run has no effect on a later run, which makes no pass more for it")
    func stopWithoutRun() {
        _ = timer(2)
        loop.add(LoopObserver(activities: .beforeTimers) { [log] _, _ in log.append("pass") }, forMode: .default)
        #expect(loop.run(until: at(0.5)) == .timedOut)
        loop.stop()
        #expect(loop.run(until: at(1)) == .timedOut)
        #expect(log.count == 2)
    }

    @Test("A nested run has its own entry and exit in its own mode; the innermost mode is the current one")
    func nestedObservers() {
        let observer = LoopObserver(activities: [.entry, .exit]) { [log, loop] _, activity in
            log.append("\(activity == .entry ? "enter" : "exit") \(loop.currentMode?.rawValue ?? "none")")
        }
        loop.add(observer, forMode: .default)
        loop.add(observer, forMode: .modalPanel)
        _ = timer(1) { [loop] _ in
            loop.perform(inModes: [.modalPanel]) {}
            loop.run(mode: .modalPanel, before: .distantPast)
        }
        loop.run()
        let modal = TimerLoop.Mode.modalPanel.rawValue
        let usual = TimerLoop.Mode.default.rawValue
        // The observer is not being called during the timer's handler, so that it sees the nested run.
        #expect(log.all == ["enter \(usual)", "enter \(modal)", "exit \(modal)", "exit \(usual)"])
        #expect(loop.currentMode == nil)
    }

    @Test("Any number of wake-ups before a pass count as one, also those before the loop ever ran")
    func wakeUps() {
        _ = timer(2)
        loop.add(LoopObserver(activities: .beforeTimers) { [log] _, _ in log.append("pass") }, forMode: .default)
        loop.run(until: at(0.5))
        #expect(log.count == 1)
        for _ in 0..<5 { loop.wakeUp() }
        loop.run(until: at(1))
        #expect(log.count == 3)
        #expect(time.now == at(1))
    }

    @Test("Timers of another mode that fall due while the loop sleeps cause no pass")
    func noPassForOthers() {
        let modal = LoopTimer(fireAt: at(1), interval: .seconds(0.1), repeats: true) { [log] _ in log.append("modal") }
        loop.add(modal, forMode: .modalPanel)
        loop.add(LoopObserver(activities: .beforeTimers) { [log] _, _ in log.append("pass") }, forMode: .default)
        _ = timer(2) { [log] _ in log.append("timer") }
        _ = timer(9)
        loop.run(until: at(3))
        #expect(log.all == ["pass", "timer", "pass"])
    }

    @Test("A loop is waiting only while it sleeps, not in handlers, observers and blocks")
    func isWaiting() throws {
        let note: @Sendable () -> Void = { [log, loop] in log.append("\(loop.isWaiting)") }
        // This engine's handler runs while the loop's sleep moves the clock.
        let engine = try TimerEngine(.init(time: time.base))
        engine.schedule(after: .seconds(1)) { [log, loop] _ in log.append("sleep: \(loop.isWaiting)") }
        _ = timer(2) { _ in note() }
        loop.add(LoopObserver { _, _ in note() }, forMode: .default)
        loop.perform { note() }
        loop.run()
        #expect(log.all.filter { $0 == "true" } == [])
        #expect(log.all.filter { $0 == "sleep: true" }.count == 1)
        #expect(!loop.isWaiting)
    }

    @Test("A block is not a source: it does not end run(mode:before:)")
    func blockEndsNothing() {
        _ = timer(5)
        loop.perform { [log] in log.append("block") }
        _ = timer(1) { [loop, log] _ in loop.perform { log.append("block of timer") } }
        #expect(loop.run(mode: .default, before: at(2)))
        #expect(time.now == at(2))
        #expect(log.all == ["block", "block of timer"])
    }

    @Test("A trigger, an observer or a timer that is added twice to a mode counts once (test_addingRemovingPorts)")
    func addedTwice() {
        let trigger = LoopTrigger { [log] _ in log.append("trigger") }
        let observer = LoopObserver(activities: .entry) { [log] _, _ in log.append("observer") }
        let tick = LoopTimer(fireAt: start, interval: .zero, repeats: false) { [log] _ in log.append("timer") }
        for _ in 0..<2 {
            loop.add(trigger, forMode: .default)
            loop.add(observer, forMode: .default)
            loop.add(tick, forMode: .default)
        }
        trigger.signal()
        loop.run(until: start)
        #expect(log.all == ["observer", "trigger", "timer"])
        loop.remove(trigger, forMode: .default)
        #expect(!loop.run(mode: .default, before: at(1)))
    }

    @Test(
        "Triggers and observers that leave and come back are called after those of their order"
    )
    func comeBack() {
        let triggers = ["a", "b", "c"].map { name in LoopTrigger { [log] _ in log.append(name) } }
        let observers = ["a", "b", "c"].map { name in
            LoopObserver(activities: .entry) { [log] _, _ in log.append("sees \(name)") }
        }
        let first = LoopTrigger(order: -1) { [log] _ in log.append("first") }
        for index in 0..<3 {
            loop.add(triggers[index], forMode: .default)
            loop.add(observers[index], forMode: .default)
        }
        // The first ones leave and come back; all others stay where they are when they are in one more mode.
        loop.remove(triggers[0], forMode: .default)
        loop.remove(observers[0], forMode: .default)
        for mode in [TimerLoop.Mode.modalPanel, .default] {
            loop.add(triggers[0], forMode: mode)
            loop.add(observers[0], forMode: mode)
            loop.add(triggers[1], forMode: mode)
            loop.add(observers[1], forMode: mode)
        }
        loop.add(triggers[2], forMode: .modalPanel)
        loop.add(observers[2], forMode: .modalPanel)
        loop.add(first, forMode: .modalPanel)
        for trigger in triggers + [first] { trigger.signal() }
        loop.run(mode: .modalPanel, for: Duration.zero)
        #expect(log.all == ["sees b", "sees c", "sees a", "first", "b", "c", "a"])
        #expect(!loop.contains(first, forMode: .default) && loop.contains(observers[1], forMode: .default))
    }

    @Test("Items added for .common leave all common modes when they are removed from .common")
    func removeFromCommon() {
        loop.addCommonMode(.eventTracking)
        let tick = timer(1)
        loop.remove(tick, forMode: .default)
        let trigger = LoopTrigger { _ in }
        let observer = LoopObserver { _, _ in }
        loop.add(tick, forMode: .common)
        loop.add(trigger, forMode: .common)
        loop.add(observer, forMode: .common)
        for mode in [TimerLoop.Mode.default, .eventTracking] {
            #expect(loop.contains(tick, forMode: mode))
            #expect(loop.contains(trigger, forMode: mode))
            #expect(loop.contains(observer, forMode: mode))
        }
        loop.remove(tick, forMode: .common)
        loop.remove(trigger, forMode: .common)
        loop.remove(observer, forMode: .common)
        for mode in [TimerLoop.Mode.default, .eventTracking] {
            #expect(!loop.contains(tick, forMode: mode))
            #expect(!loop.contains(trigger, forMode: mode))
            #expect(!loop.contains(observer, forMode: mode))
            #expect(!loop.run(mode: mode, before: at(5)))
        }
    }

    @Test("A mode's limit includes the timer that is firing (CFRunLoopGetNextTimerFireDate)")
    func limitWhileFiring() {
        let seen = Recorder<MonotonicInstant?>()
        _ = timer(1) { [loop] _ in seen.append(loop.limitInstant(forMode: .default)) }
        _ = timer(3)
        loop.run(until: at(2))
        #expect(seen.all == [at(1)])
        #expect(loop.limitInstant(forMode: .default) == at(3))
    }

    @Test("Each thread has its own loop: scheduled() adds a timer to the default mode of the calling thread's loop")
    func scheduled() throws {
        let thread = try startThread { [log] in
            let before = MonotonicInstant.now
            let timer = LoopTimer.scheduled(timeInterval: .seconds(100), repeats: true) { _ in }
            let loop = TimerLoop.current
            log.append("\(loop.contains(timer, forMode: .default)) \(loop.liveTimers)")
            log.append("\(timer.fireInstant >= before.advanced(by: .seconds(100)))")
            log.append("\(loop !== TimerLoop.main)")
        }
        pthread_join(thread, nil)
        #expect(log.all == ["true 1", "true", "true"])
    }
}

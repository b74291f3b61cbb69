// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Blocks, performers, triggers and observers. In manual time.
@Suite struct PerformTests {
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

    @Test("Blocks run once, in order, in the next pass of their mode, and keep it running until then")
    func blocks() {
        loop.perform { [log] in log.append("one") }
        loop.perform(inModes: [.modalPanel]) { [log] in log.append("modal") }
        loop.perform { [log] in log.append("two") }
        #expect(log.all == [])
        #expect(loop.run(mode: .default, before: at(1)))
        #expect(log.all == ["one", "two"])
        #expect(!loop.run(mode: .default, before: at(1)))
        #expect(loop.run(mode: .modalPanel, before: at(1)))
        #expect(log.all == ["one", "two", "modal"])
        #expect(time.now == start)
    }

    @Test("A block in several modes runs once")
    func severalModes() {
        loop.perform(inModes: [.default, .modalPanel]) { [log] in log.append("block") }
        loop.run(until: at(1))
        #expect(!loop.run(mode: .modalPanel, before: at(1)))
        #expect(log.count == 1)
    }

    @Test("Blocks of a lower order come first, equal ones in order of arrival (GNUstep performers.m)")
    func order() {
        for (name, order) in [("c", 12), ("a", 10), ("d", 12), ("b", 11), ("first", -1)] {
            loop.perform(order: order) { [log] in log.append(name) }
        }
        loop.run(until: at(1))
        #expect(log.all == ["first", "a", "b", "c", "d"])
    }

    @Test(
        "A block that a timer's handler adds runs in the same pass, after the timers; a block that it adds, in the next"
    )
    func inThePass() {
        for name in ["first", "second"] {
            let timer = LoopTimer(timeInterval: .seconds(1), repeats: false) { [loop, log] _ in
                log.append(name)
                loop.perform {
                    log.append("block of \(name)")
                    loop.perform { log.append("block of a block") }
                }
            }
            loop.add(timer, forMode: .default)
        }
        let observer = LoopObserver(activities: .beforeTimers) { [log] _, _ in log.append("pass") }
        loop.add(observer, forMode: .default)
        loop.run(until: at(2))
        let passes = log.all.split(separator: "pass").map(Array.init).filter { !$0.isEmpty }
        #expect(
            passes == [
                ["first", "second", "block of first", "block of second"], ["block of a block", "block of a block"],
            ]
        )
    }

    @Test("A block that a timer's handler adds runs before the loop sleeps again")
    func addedByTimer() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { [loop, log, time, start] _ in
            let fired = time.now
            loop.perform { log.append("\(time.now == fired && fired > start)") }
        }
        loop.add(timer, forMode: .default)
        loop.run(until: at(2))
        #expect(log.all == ["true", "true"])
        timer.invalidate()
    }

    @Test("What blocks captured is freed after they have run, and when the loop is freed")
    func freed() {
        let canaries = Canaries()
        do {
            let loop = TimerLoop(time: time.base)
            for mode in [TimerLoop.Mode.default, .modalPanel] {
                let canary = canaries.make()
                loop.perform(inModes: [mode]) { withExtendedLifetime(canary) {} }
            }
            loop.run(until: start)
            #expect(canaries.count == 1)
        }
        #expect(canaries.count == 0)
    }

    final class Target: Sendable {
        let log: Recorder<String>
        init(_ log: Recorder<String>) { self.log = log }
        func save() { log.append("save") }
        func close() { log.append("close") }
        func tick(_ timer: LoopTimer) { log.append("tick \(timer.userInfo ?? "")") }
    }

    @Test("A delayed block runs once, after its delay; a delay of zero waits for the next pass")
    func delayed() {
        loop.perform(afterDelay: .seconds(1)) { [log] in log.append("save") }
        loop.perform(afterDelay: .zero) { [log] in log.append("close") }
        #expect(log.all == [])
        loop.run(until: at(0.5))
        #expect(log.all == ["close"])
        loop.run()
        #expect(log.all == ["close", "save"])
        #expect(loop.liveTimers == 0)
    }

    @Test("Delayed blocks are cancelled by their timer, by target and key, or all of a target")
    func cancelDelayed() {
        let (one, other) = (Target(log), Target(log))
        loop.perform(afterDelay: .seconds(1), for: one, key: "save") { one.save() }.invalidate()
        for target in [one, other] {
            loop.perform(afterDelay: .seconds(1), for: target, key: "save") { target.save() }
            loop.perform(afterDelay: .seconds(1), for: target, key: "close") { target.close() }
        }
        loop.perform(afterDelay: .seconds(1)) { [log] in log.append("of nobody") }
        loop.cancelPreviousPerformRequests(withTarget: one, key: "save")
        loop.cancelPreviousPerformRequests(withTarget: one, key: "unknown")
        loop.cancelPreviousPerformRequests(withTarget: other)
        loop.run()
        #expect(log.all == ["close", "of nobody"])
    }

    @Test("10,000 delayed blocks of one target are requested and cancelled, one by one and at once, in good time")
    func manyDelayed() {
        let target = Target(log)
        for _ in 0..<10_000 {
            let timer = loop.perform(afterDelay: .seconds(1), for: target, key: "save") { target.save() }
            loop.perform(afterDelay: .seconds(1), for: target, key: "close") { target.close() }
            timer.invalidate()
        }
        #expect(loop.liveTimers == 10_000)
        loop.run(until: at(0.5))
        loop.cancelPreviousPerformRequests(withTarget: target, key: "close")
        #expect(loop.liveTimers == 0)
        #expect(log.count == 0)
    }

    @Test("A delayed block's target is held by the block alone, until that has run or is cancelled")
    func delayedHolds() {
        weak let held: Target?
        weak let dropped: Target?
        do {
            let (one, other) = (Target(log), Target(log))
            held = one
            dropped = other
            loop.perform(afterDelay: .seconds(1), for: one) { one.save() }
            loop.perform(afterDelay: .seconds(1), for: other) { [weak other] in other?.close() }
        }
        #expect(held != nil)
        #expect(dropped == nil)
        loop.run()
        #expect(log.all == ["save"])
        #expect(held == nil)
    }

    @Test("A timer with a weak target ends itself when the target is gone")
    func weakTarget() {
        let timer: LoopTimer
        do {
            let strong = Target(log)
            timer = LoopTimer(timeInterval: .seconds(1), weakTarget: strong, action: Target.tick, repeats: true)
            loop.add(timer, forMode: .default)
            loop.run(until: at(1))
        }
        loop.run(until: at(9))
        #expect(log.count == 1)
        #expect(!timer.isValid)
        #expect(loop.liveTimers == 0)
    }

    @Test("A trigger's handler runs once for any number of signals, and triggers of a lower order run first")
    func triggers() {
        let late = LoopTrigger(order: 2) { [log] _ in log.append("late") }
        let early = LoopTrigger(order: 1) { [log] _ in log.append("early") }
        for trigger in [late, early] {
            loop.add(trigger, forMode: .default)
            trigger.signal()
            trigger.signal()
        }
        loop.run(until: at(1))
        #expect(log.all == ["early", "late"])
        #expect(!late.isSignalled)
        #expect(time.now == at(1))
    }

    @Test("run(mode:before:) returns after one trigger, and the next run serves the next trigger")
    func triggerEndsRun() {
        for name in ["one", "two"] {
            let trigger = LoopTrigger { [log] _ in log.append(name) }
            loop.add(trigger, forMode: .default)
            trigger.signal()
        }
        #expect(loop.run(mode: .default, before: at(1)))
        #expect(log.all == ["one"])
        #expect(loop.run(mode: .default, before: at(1)))
        #expect(log.all == ["one", "two"])
        #expect(time.now == start)
    }

    @Test("A trigger keeps its mode running until it is removed or invalid, and then its handler is freed")
    func triggerKeepsAlive() {
        let canaries = Canaries()
        let trigger: LoopTrigger
        do {
            let canary = canaries.make()
            trigger = LoopTrigger { _ in withExtendedLifetime(canary) {} }
        }
        loop.add(trigger, forMode: .common)
        #expect(loop.contains(trigger, forMode: .default))
        #expect(loop.run(mode: .default, before: at(1)))
        #expect(time.now == at(1))
        loop.remove(trigger, forMode: .common)
        #expect(!loop.run(mode: .default, before: at(2)))
        loop.add(trigger, forMode: .default)
        trigger.invalidate()
        trigger.signal()
        #expect(!loop.run(mode: .default, before: at(2)))
        #expect(canaries.count == 0)
    }

    @Test("Observers see a pass in the order that Apple lists, around blocks, triggers and timers")
    func passOrder() {
        let names: [LoopObserver.Activity: String] = [
            .entry: "entry", .beforeTimers: "beforeTimers", .beforeSources: "beforeSources",
            .beforeWaiting: "beforeWaiting", .afterWaiting: "afterWaiting", .exit: "exit",
        ]
        loop.add(
            LoopObserver { [log] _, activity in log.append(names[activity] ?? "?") },
            forMode: .default
        )
        let trigger = LoopTrigger { [log, loop] _ in
            log.append("trigger")
            loop.perform { log.append("block of trigger") }
        }
        loop.add(trigger, forMode: .default)
        loop.perform { [log] in
            log.append("block")
            trigger.signal()
        }
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: false) { [log] _ in
            log.append("timer")
            trigger.invalidate()
        }
        loop.add(timer, forMode: .default)
        loop.run(until: at(2))
        #expect(
            log.all == [
                "entry", "beforeTimers", "beforeSources", "block", "trigger", "block of trigger",
                "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "timer", "exit",
            ]
        )
        #expect(time.now == at(1))
    }

    @Test("A pass that does not wait reports no waiting to its observers")
    func pollingPass() {
        let seen = Recorder<LoopObserver.Activity>()
        loop.add(LoopObserver { _, activity in seen.append(activity) }, forMode: .default)
        loop.isKeptAlive = true
        loop.run(until: start)
        #expect(seen.all == [.entry, .beforeTimers, .beforeSources, .exit])
    }

    @Test("Observers are called by order, one that does not repeat once, and one may invalidate a later one")
    func observerOrder() {
        loop.isKeptAlive = true
        let third = LoopObserver(activities: .entry, order: 3) { [log] _, _ in log.append("third") }
        let second = LoopObserver(activities: .entry, repeats: false, order: 2) { [log] _, _ in log.append("second") }
        let first = LoopObserver(activities: .entry, order: 1) { [log] _, _ in
            log.append("first")
            if log.count > 3 { third.invalidate() }
        }
        for observer in [third, second, first] { loop.add(observer, forMode: .default) }
        loop.run(until: start)
        #expect(log.all == ["first", "second", "third"])
        #expect(!second.isValid)
        loop.run(until: start)
        #expect(log.all == ["first", "second", "third", "first"])
    }

    @Test("An observer or a trigger that an earlier one removes from the mode is not called in the same pass")
    func removedInPass() {
        let victims = (
            observer: LoopObserver(activities: .entry, order: 2) { [log] _, _ in log.append("observer") },
            trigger: LoopTrigger(order: 2) { [log] _ in log.append("trigger") }
        )
        let observer = LoopObserver(activities: .entry, order: 1) { [self] _, _ in
            loop.remove(victims.observer, forMode: .default)
        }
        let trigger = LoopTrigger(order: 1) { [self] _ in loop.remove(victims.trigger, forMode: .default) }
        for observer in [observer, victims.observer] { loop.add(observer, forMode: .default) }
        for trigger in [trigger, victims.trigger] {
            loop.add(trigger, forMode: .default)
            trigger.signal()
        }
        loop.run(until: at(1))
        #expect(log.all == [])
        #expect(victims.observer.isValid && victims.trigger.isSignalled)
    }

    @Test("An observer is not called inside its own call, sees only its own modes, and keeps nothing running")
    func observerLimits() {
        let observer = LoopObserver(activities: .entry) { [self] _, _ in
            log.append("entry")
            loop.run(until: start)
        }
        loop.add(observer, forMode: .default)
        #expect(!loop.run(mode: .default, before: at(1)))
        loop.isKeptAlive = true
        loop.run(mode: .modalPanel, before: start)
        #expect(log.all == [])
        loop.run(until: start)
        #expect(log.all == ["entry"])
        loop.remove(observer, forMode: .default)
        #expect(!loop.contains(observer, forMode: .default))
        loop.run(until: start)
        #expect(log.count == 1)
    }
}

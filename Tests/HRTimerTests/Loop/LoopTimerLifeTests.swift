// SPDX-License-Identifier: Apache-2.0
import CTestSupport
import Glibc
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Who retains a timer, and what is freed when. In manual time.
@Suite struct LoopTimerLifeTests {
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

    private final class Target: Sendable {
        let canary: any AnyObject & Sendable
        init(_ canaries: Canaries) { canary = canaries.make() }
        func tick(_ timer: LoopTimer) {}
        func call() {}
    }

    @Test("20,000 one-shot, invalidated, weak-targeted and released timers leave nothing that they captured")
    func leaks() {
        let canaries = Canaries()
        var invalidated: [LoopTimer] = []
        var targets: [Target] = []
        for _ in 0..<5000 {
            let (byOnce, byInfo, byDropped) = (canaries.make(), canaries.make(), canaries.make())
            let once = LoopTimer(timeInterval: .seconds(1), repeats: false) { _ in withExtendedLifetime(byOnce) {} }
            loop.add(once, forMode: .default)

            let repeating = LoopTimer(timeInterval: .seconds(1), repeats: true, userInfo: byInfo) { _ in }
            loop.add(repeating, forMode: .common)
            invalidated.append(repeating)

            let target = Target(canaries)
            targets.append(target)
            loop.add(
                LoopTimer(timeInterval: .seconds(1), weakTarget: target, action: Target.tick, repeats: true),
                forMode: .default
            )

            _ = LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in withExtendedLifetime(byDropped) {} }
        }
        #expect(canaries.count == 15_000)
        loop.run(until: at(1.5))
        #expect(canaries.count == 10_000)
        invalidated.forEach { $0.invalidate() }
        #expect(canaries.count == 5000)
        // Optimized code would free them before.
        withExtendedLifetime(targets) {}
        targets = []
        #expect(canaries.count == 0)
        loop.run()
        #expect(loop.liveTimers == 0)
    }

    @Test("A loop retains a timer until the timer is invalid or has fired for the last time")
    func ownership() {
        weak let repeating: LoopTimer?
        weak let once: LoopTimer?
        do {
            let timers = [true, false].map { repeats in
                LoopTimer(timeInterval: .seconds(1), repeats: repeats) { [log] timer in
                    log.append("tick")
                    if repeats, log.count == 3 { timer.invalidate() }
                }
            }
            timers.forEach { loop.add($0, forMode: .default) }
            repeating = timers[0]
            once = timers[1]
        }
        #expect(repeating != nil && once != nil)
        loop.run(until: at(1))
        #expect(repeating != nil && once == nil)
        loop.run()
        #expect(repeating == nil)
        #expect(log.count == 3)
        #expect(time.now == at(2))
    }

    @Test("A timer that is removed from its last mode is freed with the user's last reference")
    func removedIsLetGo() {
        weak let removed: LoopTimer?
        do {
            let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in }
            loop.add(timer, forMode: .default)
            loop.remove(timer, forMode: .default)
            removed = timer
        }
        #expect(removed == nil)
    }

    @Test("A timer that outlives its loop is invalid, and does nothing from then on")
    func outlivesLoop() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { [log] _ in log.append("tick") }
        do {
            let short = TimerLoop(time: time.base)
            short.add(timer, forMode: .default)
        }
        #expect(!timer.isValid)
        timer.fire()
        timer.fireInstant = .now
        timer.precision = .precise
        timer.invalidate()
        #expect(log.count == 0)
    }

    @Test("A timer that has fired for the last time, or was removed, retains nothing of its loop")
    func holdsNoLoop() {
        let fired = LoopTimer(fireAt: at(1), interval: .zero, repeats: false) { _ in }
        let removed = LoopTimer(fireAt: at(9), interval: .zero, repeats: false) { _ in }
        let held = LoopTimer(fireAt: at(9), interval: .zero, repeats: false) { _ in }
        weak var core: LoopCore?
        do {
            let short = TimerLoop(time: time.base)
            core = short.core
            for timer in [fired, removed, held] { short.add(timer, forMode: .default) }
            short.remove(removed, forMode: .default)
            short.run(until: at(1))
            #expect(core != nil)
        }
        #expect(!fired.isValid && removed.isValid && !held.isValid)
        // Timers that other tests make ask the loops on virtual times whether a point in time has passed, which holds each loop
        // for a moment.
        for _ in 0..<100_000 where core != nil { sched_yield() }
        #expect(core == nil)
    }

    @Test("After 60,000 timers are gone, a loop that has slept has no memory left to give back")
    func memory() {
        let timers = (0..<60_000).map { _ in
            let timer = LoopTimer(fireAt: at(100), interval: .zero, repeats: false) { _ in }
            loop.add(timer, forMode: .default)
            return timer
        }
        for timer in timers { timer.invalidate() }
        #expect(loop.core.state.withLock { $0.core.wantsTrim })
        let last = LoopTimer(fireAt: at(1), interval: .zero, repeats: false) { [log] _ in log.append("tick") }
        loop.add(last, forMode: .default)
        loop.run()
        #expect(log.count == 1)
        #expect(!loop.core.state.withLock { $0.core.wantsTrim })
    }

    @Test("An instant and a tolerance that are set before a timer is added count once it is added")
    func setBeforeAdding() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { [log] _ in log.append("tick") }
        timer.fireInstant = at(0.25)
        timer.tolerance = 0.1
        loop.add(timer, forMode: .default)
        #expect(timer.fireInstant == at(0.25))
        loop.run(until: at(1.35))
        #expect(log.count == 2)
    }

    @Test("An instant that a handler sets after removing its timer counts when the timer is added again")
    func setAfterRemovalInHandler() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: true) { [self] timer in
            log.append("tick")
            guard log.count == 1 else { return }
            loop.remove(timer, forMode: .default)
            timer.fireInstant = at(5.5)
        }
        loop.add(timer, forMode: .default)
        loop.run()
        #expect(timer.fireInstant == at(5.5))
        loop.add(timer, forMode: .default)
        loop.run(until: at(7))
        #expect(log.count == 3)
    }

    @Test("Timers, triggers and observers that are added to a loop that has ended become invalid, and are freed")
    func endedLoop() throws {
        let worker = try LoopWorker(time: time.base) { _ in }
        while !worker.isFinished { sched_yield() }
        let ended = worker.loop
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: false) { [log] _ in log.append("timer") }
        let trigger = LoopTrigger { [log] _ in log.append("trigger") }
        let observer = LoopObserver(activities: .entry) { [log] _, _ in log.append("observer") }
        let canaries = Canaries()
        let holder = LoopTimer(timeInterval: .seconds(1), repeats: true) { [canary = canaries.make()] _ in
            withExtendedLifetime(canary) {}
        }
        ended.add(holder, forMode: .default)
        #expect(canaries.count == 0)
        for loop in [ended, loop] {
            loop.add(timer, forMode: .default)
            loop.add(trigger, forMode: .default)
            loop.add(observer, forMode: .default)
        }
        #expect(!timer.isValid && !trigger.isValid && !observer.isValid)
        trigger.signal()
        #expect(loop.liveTimers == 0)
        #expect(!loop.run(mode: .default, before: at(2)))
        #expect(log.all == [])
    }

    @Test("A delayed block on a loop that has ended, or in no mode, is freed")
    func delayedNowhere() throws {
        let worker = try LoopWorker(time: time.base) { _ in }
        while !worker.isFinished { sched_yield() }
        let canaries = Canaries()
        for (loop, modes) in [(worker.loop, [TimerLoop.Mode.default]), (loop, [])] {
            let canary = canaries.make()
            loop.perform(afterDelay: .seconds(1), inModes: modes, for: canary) { withExtendedLifetime(canary) {} }
        }
        #expect(canaries.count == 0)
    }

    @Test("The tolerance of a timer that does not repeat has no bound but zero, and can be infinite")
    func toleranceOnce() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: false) { [log] _ in log.append("once") }
        for (asked, expected) in [(5, 5), (-1, 0), (.nan, 0)] as [(Double, Double)] {
            timer.tolerance = asked
            #expect(timer.tolerance == expected)
        }
        timer.tolerance = .infinity
        loop.add(timer, forMode: .default)
        loop.add(LoopTimer(fireAt: at(7), interval: .zero, repeats: false) { _ in }, forMode: .default)
        loop.run(mode: .default, before: .distantFuture)
        #expect(time.now == at(7))
        #expect(log.count == 1)
    }

    @Test("An interval of 20 years is 20 years, and one of 300 years never ends (CF: 16 years)")
    func years() {
        let year = 31_556_952.0
        let twenty = LoopTimer(timeInterval: 20 * year, repeats: true) { [log] _ in log.append("20 years") }
        let threeHundred = LoopTimer(timeInterval: 300 * year, repeats: true) { [log] _ in log.append("300 years") }
        loop.add(twenty, forMode: .default)
        loop.add(threeHundred, forMode: .default)
        loop.run(until: at(20 * year - 1))
        #expect(log.count == 0)
        loop.run(until: at(60 * year))
        #expect(log.all == [String](repeating: "20 years", count: 3))
    }

    @Test("The handler of the only timer can add the next one, which is not lost (libevent timeout_lost)")
    func chain() {
        chainLink(5)
        loop.run()
        #expect(log.all == ["5", "4", "3", "2", "1"])
        #expect(time.now == at(5))
    }

    private func chainLink(_ left: Int) {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: false) { [self] _ in
            log.append("\(left)")
            if left > 1 { chainLink(left - 1) }
        }
        loop.add(timer, forMode: .default)
    }

    @Test("20,000 mixed blocks and timers come once each: blocks first, in their order, then timers by deadline")
    func mixed() {
        let order = Recorder<Int>()
        for index in 0..<10_000 {
            loop.perform { order.append(index) }
            let timer = LoopTimer(timeInterval: .microseconds(index), repeats: false) { _ in
                order.append(10_000 + index)
            }
            loop.add(timer, forMode: .default)
        }
        loop.run()
        #expect(order.all == Array(0..<20_000))
    }

    @Test("A loop that ends retains no delayed request")
    func delayedRequests() {
        let loop = TimerLoop(time: ManualTime().base)
        let target = Target(Canaries())
        weak let timer = loop.perform(afterDelay: .seconds(1), for: target) { target.call() }
        #expect(timer != nil)
        loop.end()
        #expect(timer == nil)
    }

    // A sanitizer's malloc has other sizes.
    @Test("A loop timer's object takes at most 200 bytes", .disabled(if: isSanitized))
    func objectSize() {
        // glibc rounds up to a multiple of 16, uses 8 of those bytes itself, and leaves 16 more where nothing else can use them.
        // There are more timers than such blocks, which tests beside this one have freed.
        let timers = (0..<5_000).map { _ in LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in } }
        let sizes = timers.map { ctest_heap_bytes(Unmanaged.passUnretained($0).toOpaque()) }
        #expect(sizes.min()! <= 200)
        withExtendedLifetime(timers) {}
    }
}

// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

@Suite struct ManualTimeTests {
    @Test("Time stands still until it is moved, and never goes back")
    func standsStill() {
        let time = ManualTime()
        let start = time.now
        #expect(time.now == start)
        time.advance(by: .seconds(1))
        #expect(start.duration(to: time.now) == .seconds(1))
        time.advance(by: .seconds(-5))
        time.advance(to: start)
        #expect(start.duration(to: time.now) == .seconds(1))
    }

    @Test("A handler sees its own deadline as the present, however far the clock is advanced")
    func handlersSeeTheirDeadline() throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        let start = time.now
        engine.schedule(after: .seconds(1)) { _ in #expect(start.duration(to: time.now) == .seconds(1)) }
        engine.schedule(after: .seconds(2)) { _ in #expect(start.duration(to: time.now) == .seconds(2)) }
        #expect(time.nextDeadline == start.advanced(by: .seconds(1)))
        time.advance(by: .seconds(10))
        #expect(time.nextDeadline == nil)
        #expect(engine.statistics.fires == 2)
    }

    @Test("Equal deadlines on several engines fire in the order in which the engines were made")
    func equalDeadlines() throws {
        let time = ManualTime()
        let order = Recorder<Int>()
        let engines = try (0..<3).map { _ in try TimerEngine(.init(time: time.base)) }
        for number in [2, 0, 1] { engines[number].schedule(after: .seconds(1)) { _ in order.append(number) } }
        time.advance(by: .seconds(1))
        #expect(order.all == [0, 1, 2])
    }

    @Test("Suspending the system for zero or less changes no clock; otherwise boot and wall time advance together")
    func suspendedForLess() {
        let time = ManualTime()
        let (start, boot, wall) = (time.now, time.bootTimeNow, time.wallNow)
        time.suspendSystem(for: .seconds(-5))
        time.suspendSystem(for: .zero)
        #expect(time.bootTimeNow == boot && time.wallNow == wall)
        time.suspendSystem(for: .seconds(5))
        #expect(time.bootTimeNow == boot.advanced(by: .seconds(5)) && time.wallNow == wall.advanced(by: .seconds(5)))
        #expect(time.now == start)
    }

    @Test("run() fires chains of one-shot timers to their end, and stops at its limit for repeating ones")
    func run() throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        engine.schedule(after: .seconds(1)) { _ in engine.schedule(after: .seconds(3600)) { _ in } }
        #expect(time.run() == 2)
        engine.schedule(after: .zero, every: .seconds(1)) { _ in }
        #expect(time.run(limit: 50) == 50)
    }

    @Test("A released engine leaves no deadline on the clock")
    func droppedEngine() throws {
        let time = ManualTime()
        do {
            let engine = try TimerEngine(.init(time: time.base))
            engine.schedule(after: .seconds(1)) { _ in Issue.record("fired after its engine was gone") }
            #expect(time.nextDeadline != nil)
        }
        #expect(time.nextDeadline == nil)
        time.advance(by: .seconds(5))
    }

    @Test("At the end of time a repeating timer stops, and a timer for the distant future does not fire")
    func endOfTime() throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        engine.schedule(at: time.now, every: .seconds(4_000_000_000)) { [weak engine] fire in
            #expect(fire.deadline < .distantFuture)
            // Keeps a failing test from running for ever.
            if fire.deadline == .distantFuture { engine?.cancel(fire.token) }
        }
        let never = engine.schedule(at: time.now) { _ in Issue.record("fired though its deadline was taken back") }
        engine.reschedule(never, at: .distantFuture)
        time.advance(to: .distantFuture)
        #expect(engine.statistics.fires == 3)
    }
}

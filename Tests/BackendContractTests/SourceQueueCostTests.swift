// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import HRTimerCore
import Synchronization
import TestSupport
import TestTraits
import Testing

/// The cost of calls on queues for the engine's thread. The machine's load may raise a count: one try of many must pass.
@Suite(.serialized, .hangLimit) struct SourceQueueCostTests {
    private let queue = DispatchQueue(label: "queue-cost")

    /// Returns what the engine did for so many calls, each of which takes `handler_us`, and the ticks that they reported.
    private func statistics(
        calls: Int,
        every interval: Duration,
        precision: TimerPrecision = .normal,
        handler_us: UInt32 = 0
    ) throws -> (TimerStatistics, ticks: UInt) {
        let engine = try TimerEngine(.init(name: "queue-cost", precision: precision))
        defer { engine.shutdown() }
        let count = Atomic(0)
        let ticks = Atomic<UInt>(0)
        let source = TimerSource(engine: engine, queue: queue)
        source.setEventHandler { [weak source] in
            if handler_us > 0 { usleep(handler_us) }
            ticks.wrappingAdd(source?.data ?? 0, ordering: .relaxed)
            count.wrappingAdd(1, ordering: .relaxed)
        }
        source.schedule(deadline: .now + interval, repeating: interval)
        source.activate()
        while count.load(ordering: .relaxed) < calls { usleep(200) }
        source.cancelAndWait()
        return (engine.statistics, ticks.load(ordering: .relaxed))
    }

    @Test(
        "A call on a queue that ends in time wakes the engine at most twice: for its deadline, and when it ends",
        arguments: [TimerPrecision.coalesced, .normal, .precise]
    )
    func inTime(_ precision: TimerPrecision) throws {
        var seen: [TimerStatistics] = []
        for _ in 0..<20 {
            let (statistics, _) = try statistics(calls: 100, every: .milliseconds(2), precision: precision)
            seen.append(statistics)
            if statistics.wakesSent <= 120, statistics.wakeups <= 230 { return }
        }
        Issue.record("no try of 20 did with two wake-ups a call: \(seen)")
    }

    @Test("Calls on a queue that overrun their interval lose no tick, and the engine sleeps meanwhile")
    func overrunning() throws {
        var seen: [TimerStatistics] = []
        for _ in 0..<20 {
            let (statistics, ticks) = try statistics(calls: 40, every: .milliseconds(1), handler_us: 2500)
            #expect(ticks >= 80)
            seen.append(statistics)
            if statistics.wakeups <= 100 { return }
        }
        Issue.record("no try of 20 let the engine sleep: \(seen)")
    }

    @Test("A queue that is blocked for long does not wake the engine meanwhile")
    func blocked() throws {
        let engine = try TimerEngine(.init(name: "queue-cost"))
        defer { engine.shutdown() }
        let count = Atomic(0)
        let latch = DispatchSemaphore(value: 0)
        let source = TimerSource(engine: engine, queue: queue)
        source.setEventHandler { if count.wrappingAdd(1, ordering: .relaxed).newValue == 3 { latch.wait() } }
        source.schedule(deadline: .now, repeating: .milliseconds(1))
        source.activate()
        while count.load(ordering: .relaxed) < 3 { usleep(200) }
        usleep(20_000)
        let before = engine.statistics.wakeups
        usleep(50_000)
        #expect(engine.statistics.wakeups == before)
        latch.signal()
        while count.load(ordering: .relaxed) < 10 { usleep(200) }
        source.cancelAndWait()
    }
}

// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import Testing

/// Tests of sleeps on the boot-time and the wall clock, on frozen time.
@Suite struct EngineClockTests {
    let time = ManualTime()

    @Test("A step of the wall clock past the deadline wakes the sleeper; a step back lets it sleep on")
    func steps() async throws {
        let engine = try WallTimerEngine(.init(time: time.base))
        let clock = WallClock(engine: engine)
        let start = time.wallNow
        let deadline = start.advanced(by: .seconds(60))
        let task = Task {
            try await clock.sleep(until: deadline)
            return clock.now
        }
        while engine.liveTimers != 1 { await Task.yield() }
        time.setWall(to: start.advanced(by: .seconds(-3600)))
        time.advance(by: .seconds(3600))
        #expect(engine.liveTimers == 1)
        time.setWall(to: deadline.advanced(by: .seconds(1)))
        #expect(try await task.value == deadline.advanced(by: .seconds(1)))
        #expect(engine.liveTimers == 0)
    }

    @Test("A sleep on the boot-time clock includes the time in suspend")
    func suspended() async throws {
        let engine = try BootTimeTimerEngine(.init(time: time.base))
        let clock = BootTimeClock(engine: engine)
        let task = Task { try await clock.sleep(for: .seconds(60)) }
        while engine.liveTimers != 1 { await Task.yield() }
        time.suspendSystem(for: .seconds(59))
        #expect(engine.liveTimers == 1)
        time.suspendSystem(for: .seconds(1))
        try await task.value
    }

    @Test("A cancelled sleeper throws, and leaves the queue")
    func cancelled() async throws {
        let engine = try WallTimerEngine(.init(time: time.base))
        let task = Task { try await WallClock(engine: engine).sleep(until: .distantFuture) }
        while engine.liveTimers != 1 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(engine.liveTimers == 0)
    }
}

// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import Testing

/// The clock's contract on frozen time.
@Suite struct MonotonicClockTests {
    let time = ManualTime()
    let engine: TimerEngine
    let clock: MonotonicClock

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        clock = MonotonicClock(engine: engine)
    }

    /// Waits until `count` sleepers are in the engine's queue.
    private func sleepersAre(_ count: Int) async {
        while engine.liveTimers != count { await Task.yield() }
    }

    @Test("A sleeper wakes at its deadline, on the engine's clock")
    func wakes() async throws {
        let deadline = time.now.advanced(by: .seconds(60))
        let task = Task { [clock] in
            try await clock.sleep(until: deadline)
            return clock.now
        }
        await sleepersAre(1)
        time.advance(by: .seconds(60) - .nanoseconds(1))
        #expect(engine.liveTimers == 1)
        time.advance(by: .nanoseconds(1))
        #expect(try await task.value == deadline)
    }

    @Test("A past deadline returns at once, without a timer")
    func past() async throws {
        try await clock.sleep(until: time.now)
        try await clock.sleep(until: .distantPast, tolerance: .seconds(-1))
        #expect(engine.statistics.fires == 0)
    }

    @Test("swiftlang/swift#60441: a cancelled sleeper wakes at once, throws, and leaves the queue")
    func cancelled() async {
        let task = Task { [clock] in try await clock.sleep(until: .distantFuture) }
        await sleepersAre(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(engine.liveTimers == 0)
    }

    @Test("A task cancelled before it sleeps throws without sleeping, also past the deadline")
    func cancelledBefore() async {
        let task = Task { [clock] in
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(until: .distantPast)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("An engine that shuts down wakes its sleepers with a CancellationError, and refuses later sleeps")
    func engineEnds() async {
        let task = Task { [clock] in try await clock.sleep(until: .distantFuture) }
        await sleepersAre(1)
        await engine.shutdown()
        await #expect(throws: CancellationError.self) { try await task.value }
        await #expect(throws: CancellationError.self) { try await clock.sleep(until: .distantFuture) }
    }

    @Test("Huge sleeps neither return at once nor trap: swiftlang/swift#80791, #82563")
    func huge() async {
        let task = Task { [clock] in try await clock.sleep(for: .seconds(Int64.max)) }
        await sleepersAre(1)
        time.advance(to: MonotonicInstant(nanoseconds: .max - 1))
        #expect(engine.liveTimers == 1)
        task.cancel()
        _ = await task.result
    }

    @Test("Generic code over Clock can sleep on a MonotonicClock and measure with it")
    func generic() async throws {
        func nap(_ clock: some Clock<Duration>) async throws -> Duration {
            try await clock.measure { try await clock.sleep(for: .seconds(5)) }
        }
        let task = Task { [clock] in try await nap(clock) }
        await sleepersAre(1)
        time.advance(by: .seconds(5))
        #expect(try await task.value == .seconds(5))
        #expect(clock.minimumResolution == .nanoseconds(1))
    }

    @Test(
        "async_task_sleep_cancel's four outcomes (case 29): finished, zero length, cancelled before or during the sleep"
    )
    func outcomes() async throws {
        let finished = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
        await sleepersAre(1)
        time.advance(by: .seconds(1))
        try await finished.value
        try await Task { [clock] in try await clock.sleep(for: .zero) }.value
        let before = Task { [clock] in
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(for: .seconds(1))
        }
        before.cancel()
        await #expect(throws: CancellationError.self) { try await before.value }
        let during = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
        await sleepersAre(1)
        during.cancel()
        // The timer has left the queue when cancel returns, not only when the task resumes.
        #expect(engine.liveTimers == 0)
        await #expect(throws: CancellationError.self) { try await during.value }
        #expect(engine.statistics.fires == 1)
    }

    @Test("On a coalescing engine sleeps share a wake-up within their tolerance, and none exceeds it (case 30)")
    func tolerance() async throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let clock = MonotonicClock(engine: engine)
        let start = time.now
        let sleepers = [(100, 50), (120, 0), (130, 300)].map { delay, tolerance in
            Task {
                try await clock.sleep(until: start + .milliseconds(delay), tolerance: .milliseconds(tolerance))
            }
        }
        while engine.liveTimers != 3 { await Task.yield() }
        #expect(time.nextDeadline == start + .milliseconds(120))
        time.advance(by: .milliseconds(119))
        #expect(engine.liveTimers == 3)
        time.advance(by: .milliseconds(1))
        #expect(engine.liveTimers == 1)
        #expect(engine.statistics.wakeups == 1)
        time.advance(by: .milliseconds(310))
        for sleeper in sleepers { try await sleeper.value }
        #expect(engine.statistics.wakeups == 2)
    }

    @Test("A clock hands the tolerance of a sleep on, unless its precision ignores tolerances")
    func handsToleranceOn() throws {
        func tolerance_ns(_ clock: MonotonicClock) -> Int64 { clock.plan(.now, .seconds(1)).tolerance_ns }
        #expect(tolerance_ns(MonotonicClock()) == 1_000_000_000)
        #expect(tolerance_ns(clock) == 1_000_000_000)
        #expect(tolerance_ns(MonotonicClock(precision: .normal)) == 0)
    }

    @Test(
        "On a coalescing engine with more than 4096 timers a sleep without a tolerance gets one, at most 1 ms",
        arguments: [(4096, 0), (4097, 1), (5000, 1)]
    )
    func crowd(timers: Int, tolerance_ms: Int) async throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        for _ in 0..<timers { engine.schedule(at: .distantFuture) { _ in } }
        let sleeper = Task { try await MonotonicClock(engine: engine).sleep(for: .seconds(10)) }
        while engine.liveTimers != timers + 1 { await Task.yield() }
        #expect(time.nextDeadline == time.now + .milliseconds(10_000 + tolerance_ms))
        time.advance(by: .milliseconds(10_000 + tolerance_ms))
        try await sleeper.value
    }

    @Test("A thousand sleepers all wake, none before its deadline")
    func many() async throws {
        let start = time.now
        try await withThrowingTaskGroup(of: Duration.self) { group in
            for index in 1...1000 {
                group.addTask { [clock] in
                    let deadline = start.advanced(by: .milliseconds(index))
                    try await clock.sleep(until: deadline)
                    // The clock advances meanwhile, so the lateness is anything up to the end of the advance.
                    return deadline.duration(to: clock.now)
                }
            }
            await sleepersAre(1000)
            time.advance(by: .seconds(1))
            for try await lateness in group { #expect(lateness >= .zero) }
        }
        #expect(engine.liveTimers == 0)
    }
}

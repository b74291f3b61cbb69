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

    /// Until the sleeper is in the engine's queue.
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

    @Test("An engine that ends wakes its sleepers with a CancellationError, and lets nobody sleep afterwards")
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

    @Test("It is a clock like any other: generic code sleeps and measures on it")
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

    @Test("A thousand sleepers all wake, none before its deadline")
    func many() async throws {
        let start = time.now
        try await withThrowingTaskGroup(of: Duration.self) { group in
            for index in 1...1000 {
                group.addTask { [clock] in
                    let deadline = start.advanced(by: .milliseconds(index))
                    try await clock.sleep(until: deadline)
                    // Up to the end of the advance, which goes on meanwhile.
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

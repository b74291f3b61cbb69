import HRTimer
import HRTimerTesting
import Testing

@Suite struct TestClockTests {
    /// An example of code under test that takes a clock.
    private func retry(times: Int, clock: some Clock<Duration>) async throws {
        var delay = Duration.seconds(1)
        for _ in 0..<times {
            try await clock.sleep(for: delay, tolerance: delay / 10)
            delay *= 2
        }
    }

    @Test("An immediate clock takes no time and moves to each deadline; a past deadline leaves it unchanged")
    func immediate() async throws {
        let clock = ImmediateClock()
        try await retry(times: 5, clock: clock)
        #expect(clock.now == clock.start.advanced(by: .seconds(31)))
        try await clock.sleep(until: clock.start)
        #expect(clock.now == clock.start.advanced(by: .seconds(31)))
        #expect(try await clock.measure { try await clock.sleep(for: .seconds(5)) } == .seconds(5))
    }

    @Test("A cancelled task does not sleep on an immediate clock, and a sleep without end ends when it is cancelled")
    func immediateCancelled() async {
        let clock = ImmediateClock()
        let task = Task { try await clock.sleep(until: .distantFuture) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.now == clock.start)
    }

    @Test("A recording clock reports the durations and tolerances of its sleeps, on any underlying clock")
    func recording() async throws {
        let clock = RecordingClock(ImmediateClock())
        try await retry(times: 3, clock: clock)
        #expect(clock.sleeps.map(\.duration) == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(clock.sleeps.map(\.tolerance) == [.milliseconds(100), .milliseconds(200), .milliseconds(400)])
        clock.removeAll()
        #expect(clock.sleeps.isEmpty)
        try await withManualTime { time in
            let clock = RecordingClock(MonotonicClock())
            try await retry(times: 2, clock: clock)
            #expect(clock.sleeps.map(\.begin) == [0, 1].map { time.now.advanced(by: .seconds($0 - 3)) })
            // In the order of the calls, including those that have not ended.
            clock.removeAll()
            async let long: Void = clock.sleep(for: .seconds(2))
            _ = await time.nextSleep()
            try await clock.sleep(for: .seconds(1))
            #expect(clock.sleeps.map(\.duration) == [.seconds(2), .seconds(1)])
            try await long
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
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

    @Test("An immediate clock records how long each of its sleeps was to take, a past and a cancelled one too")
    func recorded() async throws {
        let clock = ImmediateClock()
        try await retry(times: 3, clock: clock)
        #expect(clock.sleeps == [.seconds(1), .seconds(2), .seconds(4)])
        try await clock.sleep(until: clock.now.advanced(by: .seconds(-1)))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(5))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeps.suffix(2) == [.seconds(-1), .seconds(5)])
    }
}

// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestTraits
import Testing

/// `withTimeout` on frozen time.
@Suite("Timeouts", .hangLimit)
struct TimeoutTests {
    let time = ManualTime()
    let engine: TimerEngine
    let clock: MonotonicClock

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        clock = MonotonicClock(engine: engine)
    }

    private func moveWhenArmed(by duration: Duration) async {
        while engine.liveTimers != 1 { await Task.yield() }
        time.advance(by: duration)
    }

    @Test("throw TimedOut, which holds the error that the operation threw")
    func timesOut() async {
        async let moved: Void = moveWhenArmed(by: .seconds(5))
        let error = await #expect(throws: TimedOut.self) {
            try await withTimeout(.seconds(5), clock: clock) {
                let stream = AsyncStream<Never> { _ in }
                for await _ in stream {}
                try Task.checkCancellation()
            }
        }
        await moved
        #expect(error?.timeout == .seconds(5))
        #expect(error?.underlying is CancellationError)
        #expect(error?.description.contains("5.0 seconds") == true)
        #expect(engine.liveTimers == 0)
    }

    @Test("pass on an error that comes in time, and a result also after the timeout")
    func inTime() async throws {
        await #expect(throws: DeadlineTests.Refusal.self) {
            try await withTimeout(.seconds(5), clock: clock) { throw DeadlineTests.Refusal() }
        }
        async let moved: Void = moveWhenArmed(by: .seconds(5))
        let late = try await withTimeout(.seconds(5), clock: clock) {
            while !Task.isCancelled { await Task.yield() }
            return "late"
        }
        await moved
        #expect(late == "late")
        await #expect(throws: TimedOut.self) {
            try await withTimeout(.zero, clock: clock) { try Task.checkCancellation() }
        }
    }

    @Test("throw CancellationError rather than TimedOut when the calling task is cancelled")
    func callerCancelled() async {
        let task = Task {
            try await withTimeout(.seconds(5), clock: clock) { try await clock.sleep(until: .distantFuture) }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(engine.liveTimers == 0)
    }
}

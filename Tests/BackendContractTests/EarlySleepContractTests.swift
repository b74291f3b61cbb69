// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

@testable import HRTimerCore

/// How the timer of a sleeping task allows for the time that the task needs to get to its own thread.
@Suite(.ownThread) struct EarlySleepContractTests {
    private func engine(_ precision: TimerPrecision) async throws -> TimerEngine {
        let engine = try TimerEngine(.init(name: "early", precision: precision))
        for _ in 0..<50 {
            let deadline = MonotonicInstant.now.advanced(by: .milliseconds(2))
            try await MonotonicClock(engine: engine).sleep(until: deadline)
            #expect(.now >= deadline)
        }
        return engine
    }

    /// Returns a deadline that a task slept until, the instant that the engine's thread slept until meanwhile, and the number
    /// of sleeps. On a busy machine the test may look too late: then it looks at the next sleep.
    private func parked(
        _ engine: TimerEngine
    ) async throws -> (deadline: MonotonicInstant, until: MonotonicInstant, sleeps: Int) {
        for sleeps in 1...100 {
            let begun = MonotonicInstant.now
            let deadline = begun.advanced(by: .milliseconds(200))
            async let sleep: Void = MonotonicClock(engine: engine).sleep(until: deadline)
            var seen: MonotonicInstant?
            while seen == nil, .now < deadline {
                try await Task.sleep(for: .microseconds(100))
                let until = MonotonicInstant(nanoseconds: engine.core.state.withLock { $0.parkedUntil_ns })
                // The thread may still be in the sleep before this one, or be through with this one already.
                if until > begun, until < .distantFuture { seen = until }
            }
            try await sleep
            #expect(.now >= deadline)
            if let seen { return (deadline, seen, sleeps) }
        }
        throw CancellationError()
    }

    @Test(
        "Without coalescing a sleep's timer is set before its deadline, by the learned time of the way to the task",
        .hangLimit,
        arguments: [TimerPrecision.normal, .precise]
    )
    func isEarly(_ precision: TimerPrecision) async throws {
        let engine = try await engine(precision)
        let (deadline, parked, sleeps) = try await parked(engine)
        #expect(parked < deadline)
        // The spin budget allows no longer lead.
        #expect(parked.advanced(by: .milliseconds(2)) > deadline)
        // Each sleep is recorded once, with its lateness from the task's deadline. A deadline that passed before the task got to
        // its sleep, on a busy machine, makes none.
        let fires = Int(engine.statistics.fires)
        #expect(engine.lateness.count == fires)
        #expect((50 + sleeps) / 2...50 + sleeps ~= fires)
        #expect(engine.lateness.earlyCount == 0)
        await engine.shutdown()
    }

    @Test("A precise engine learns how long a task on its own thread takes from the wake to its spin", .hangLimit)
    func ready() async throws {
        let engine = try TimerEngine(.init(name: "ready", precision: .precise))
        try await Task(executorPreference: TimerExecutor(engine: engine)) {
            for _ in 0..<50 {
                let deadline = MonotonicInstant.now.advanced(by: .milliseconds(2))
                try await MonotonicClock(engine: engine).sleep(until: deadline)
                #expect(.now >= deadline)
            }
        }.value
        await engine.shutdown()
        #expect(engine.core.window.c.pointee.ready_ns > 0)
    }

    @Test("With coalescing a sleep's timer is set for its deadline", .hangLimit)
    func coalesced() async throws {
        let engine = try await engine(.coalesced)
        let (deadline, parked, _) = try await parked(engine)
        #expect(parked >= deadline)
        await engine.shutdown()
    }

    @Test("A lateness watch sees the deadline of a sleep, and not an earlier instant", .hangLimit)
    func watched() async throws {
        let reported = Recorder<MonotonicInstant>()
        var configuration = TimerEngine.Configuration(name: "watched", precision: .normal)
        configuration.latenessWatch = .init(bound: .nanoseconds(-1)) { reported.append($0.deadline) }
        let engine = try TimerEngine(configuration)
        var deadlines: [MonotonicInstant] = []
        for _ in 0..<50 {
            let before = engine.statistics.fires
            let deadline = MonotonicInstant.now.advanced(by: .milliseconds(2))
            try await MonotonicClock(engine: engine).sleep(until: deadline)
            // On a busy machine a deadline may pass before its sleep begins, which then is no fire.
            if engine.statistics.fires > before { deadlines.append(deadline) }
        }
        await engine.shutdown()
        #expect(!deadlines.isEmpty && reported.all == deadlines)
    }
}

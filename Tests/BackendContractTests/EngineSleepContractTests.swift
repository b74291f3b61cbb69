// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// The wakes of an engine's sleeping thread, to the nanosecond, by the engine's own counts.
@Suite struct EngineSleepContractTests {
    /// Returns an engine whose thread sleeps until the deadline, and is not about to wake before.
    private func asleep(_ precision: TimerPrecision, until deadline: MonotonicInstant) throws -> TimerEngine {
        let engine = try TimerEngine(.init(name: "contract", precision: precision))
        engine.schedule(at: deadline) { _ in }
        while !isAsleep(engine) { usleep(100) }
        return engine
    }

    private func isAsleep(_ engine: TimerEngine) -> Bool {
        engine.core.state.withLock { $0.parkedUntil_ns } != .min
    }

    @Test(
        "Arming or moving to the instant that the engine sleeps until wakes nobody; a nanosecond earlier does",
        .hangLimit,
        arguments: TimerPrecision.allCases
    )
    func sameInstant(_ precision: TimerPrecision) throws {
        let deadline = MonotonicInstant.now.advanced(by: .seconds(3600))
        let engine = try asleep(precision, until: deadline)
        let before = engine.statistics
        let earlier = deadline.advanced(by: .nanoseconds(-1))
        let source = TimerSource(engine: engine)
        source.setEventHandler {}
        source.activate()
        source.schedule(deadline: deadline, repeating: .seconds(1))
        let timer = engine.schedule(at: deadline.advanced(by: .seconds(1))) { _ in }
        engine.reschedule(timer, at: deadline)
        #expect(engine.statistics == before)
        #expect(isAsleep(engine))
        engine.schedule(at: earlier) { _ in }
        #expect(engine.statistics.wakesSent == before.wakesSent + 1)
        while !isAsleep(engine) { usleep(100) }
        #expect(engine.statistics.wakeups == before.wakeups + 1)
        source.schedule(deadline: earlier.advanced(by: .nanoseconds(-1)), repeating: .seconds(1))
        #expect(engine.statistics.wakesSent == before.wakesSent + 2)
        while !isAsleep(engine) { usleep(100) }
        engine.reschedule(timer, at: earlier.advanced(by: .nanoseconds(-2)))
        #expect(engine.statistics.wakesSent == before.wakesSent + 3)
        engine.shutdown()
    }

    @Test("A sleep that a wake ends is not recorded as a wake latency", arguments: TimerPrecision.allCases)
    func wokenIsNoLatency(_ precision: TimerPrecision) throws {
        let engine = try asleep(precision, until: .now.advanced(by: .seconds(3600)))
        for seconds in [1800, 900] {
            engine.schedule(after: .seconds(seconds)) { _ in }
            while !isAsleep(engine) { usleep(100) }
        }
        engine.shutdown()
        #expect(engine.statistics.wakeups >= 2)
        #expect(engine.wakeLatency.count == 0)
    }
}

// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerCore
import TestSupport
import TestTraits
import Testing

/// The lateness that an engine records for calls that it submits early: how late each call came to its deadline, not how early
/// it was prepared.
@Suite(.serialized, .hangLimit) struct LatenessRecordTests {
    @Test("Each sleep on a precise engine is recorded once, with its task's lateness at the deadline")
    func sleeps() async throws {
        let engine = try TimerEngine(precision: .precise)
        let clock = MonotonicClock(engine: engine)
        var seen = Duration.zero
        var recorded: UInt64 = 0
        // On a busy machine a deadline may come before its sleep begins. Such a sleep needs no call and is not counted.
        while recorded < 200 {
            let before = engine.statistics.fires
            let deadline = clock.now + .milliseconds(1)
            try await clock.sleep(until: deadline)
            seen += clock.now - deadline
            if engine.statistics.fires > before { recorded += 1 }
            #expect(engine.lateness.count == recorded)
        }
        let lateness = engine.lateness
        #expect(lateness.earlyCount == 0)
        // A clock that is read after the deadline shows some nanoseconds, most of the time.
        #expect(try #require(lateness.quantile(0.5)) > .zero)
        #expect(lateness.sum <= seen)
        await engine.shutdown()
    }

    @Test("Each call of a precise source is recorded once by its engine, with its block's lateness at the deadline")
    func queue() async throws {
        let engine = try TimerEngine(precision: .precise)
        let source = TimerSource(engine: engine, queue: DispatchQueue(label: "precise"))
        let calls = Recorder<UInt>()
        source.setEventHandler { [weak source] in calls.append(source?.data ?? 0) }
        source.schedule(deadline: .now + .milliseconds(5), repeating: .milliseconds(2))
        source.activate()
        while calls.count < 100 { try await Task.sleep(for: .milliseconds(5)) }
        await source.cancelAndWait()
        let lateness = engine.lateness
        #expect(lateness.count == calls.count)
        #expect(lateness.earlyCount == 0)
        #expect(try #require(lateness.quantile(0.5)) > .zero)
        await engine.shutdown()
    }
}

import Dispatch
import HRTimer
import HRTimerCore
import TestSupport
import Testing

/// What an engine records of calls that it hands on before their deadlines: how late they came to them, and nothing prepared.
@Suite(.serialized, .timeLimit(.minutes(5))) struct LatenessRecordTests {
    @Test("Each sleep on a precise engine is recorded once, as late as its task came to the deadline")
    func sleeps() async throws {
        let engine = try TimerEngine(precision: .precise)
        let clock = MonotonicClock(engine: engine)
        var seen = Duration.zero
        var recorded: UInt64 = 0
        // On a busy machine a deadline may come before its sleep begins, which then needs no call: such a one is not counted.
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
        #expect(try #require(lateness.percentile(50)) > .zero)
        #expect(lateness.sum <= seen)
        await engine.shutdown()
    }

    @Test("Each call of a precise source is recorded once by its engine, as late as its block came to the deadline")
    func queue() async throws {
        let engine = try TimerEngine(precision: .precise)
        let source = TimerSource(engine: engine, queue: DispatchQueue(label: "precise"))
        source.recordStatistics()
        let calls = Recorder<UInt>()
        source.setEventHandler { [weak source] in calls.append(source?.data ?? 0) }
        source.schedule(deadline: .now + .milliseconds(5), repeating: .milliseconds(2))
        source.activate()
        while calls.count < 100 { try await Task.sleep(for: .milliseconds(5)) }
        await source.cancelAndWait()
        let (lateness, own) = (engine.lateness, source.lateness)
        #expect(lateness.count == own.count)
        #expect(lateness.earlyCount == 0)
        #expect(try #require(lateness.percentile(50)) > .zero)
        // The source looks at the clock once more, after that.
        #expect(lateness.sum <= own.sum)
        await engine.shutdown()
    }
}

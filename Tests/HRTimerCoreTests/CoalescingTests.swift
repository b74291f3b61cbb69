// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

/// Tolerance windows and shared wake-ups. On frozen time.
@Suite struct CoalescingTests {
    let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    let fires = Recorder<TimerFire>()

    private func makeEngine(_ precision: TimerPrecision) throws -> TimerEngine {
        try TimerEngine(.init(precision: precision, time: time.base))
    }

    private func at(_ ns: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: ns) }

    @Test("Timers whose windows overlap share one wake-up, at the earliest end among their windows")
    func overlapping() throws {
        let engine = try makeEngine(.coalesced)
        engine.schedule(at: at(100), tolerance: .nanoseconds(100), handler: fires.append)
        engine.schedule(at: at(150), tolerance: .nanoseconds(30), handler: fires.append)
        engine.schedule(at: at(170), tolerance: .nanoseconds(500), handler: fires.append)
        engine.schedule(at: at(190), tolerance: .nanoseconds(500), handler: fires.append)
        time.advance(to: at(1000))
        #expect(fires.all.map(\.firedAt) == [at(180), at(180), at(180), at(690)])
        #expect(fires.all.map(\.deadline) == [at(100), at(150), at(170), at(190)])
        #expect(engine.statistics.wakeups == 2)
        #expect(engine.statistics.wakeupsSaved == 2)
    }

    @Test("A repeating timer keeps its grid although its tolerance delays each fire")
    func gridStays() throws {
        let engine = try makeEngine(.coalesced)
        engine.schedule(at: at(100), every: .nanoseconds(100), tolerance: .nanoseconds(50), handler: fires.append)
        time.advance(to: at(460))
        #expect(fires.all.map(\.deadline) == [at(100), at(200), at(300), at(400)])
        #expect(fires.all.map(\.firedAt) == [at(150), at(250), at(350), at(450)])
    }

    @Test("Random timers fire neither before their deadline nor after their window", arguments: 0..<5)
    func random(_ round: Int) throws {
        let engine = try makeEngine(.coalesced)
        var random = SeededRandom.fromEnvironment()
        let fires = self.fires
        for _ in 0..<1000 {
            let deadline = at(Int64.random(in: 0..<1_000_000, using: &random))
            let tolerance = Duration.nanoseconds(Int64.random(in: 0..<10_000, using: &random))
            engine.schedule(at: deadline, tolerance: tolerance) { fire in
                #expect(fire.lateness >= .zero && fire.lateness <= tolerance)
                fires.append(fire)
            }
        }
        time.run()
        #expect(fires.count == 1000)
        #expect(engine.statistics.wakeups < 500)
    }

    @Test("Normal and precise engines ignore tolerance", arguments: [TimerPrecision.normal, .precise])
    func otherPrecisions(_ precision: TimerPrecision) throws {
        let engine = try makeEngine(precision)
        engine.schedule(at: at(100), tolerance: .seconds(1), handler: fires.append)
        time.advance(to: at(200))
        #expect(fires.all.map(\.firedAt) == [at(100)])
    }

    @Test("A timer may request a higher precision than its engine's, but not a lower one")
    func ownPrecision() throws {
        let engine = try makeEngine(.coalesced)
        engine.schedule(at: at(100), tolerance: .seconds(1), precision: .normal, handler: fires.append)
        engine.schedule(at: at(150), tolerance: .seconds(1), precision: .precise, handler: fires.append)
        let normal = try makeEngine(.normal)
        normal.schedule(at: at(120), tolerance: .seconds(1), precision: .coalesced, handler: fires.append)
        time.advance(to: at(200))
        #expect(fires.all.map(\.firedAt) == [at(100), at(120), at(150)])
    }

    @Test("The lateness watch reports exactly the fires that are later than its bound, before their handlers")
    func watch() throws {
        let log = Recorder<String>()
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.latenessWatch = .init(bound: .nanoseconds(50)) { log.append("late by \($0.lateness)") }
        let engine = try TimerEngine(configuration)
        let time = self.time
        engine.schedule(at: at(100)) { _ in time.advance(to: MonotonicInstant(nanoseconds: 200)) }
        engine.schedule(at: at(150)) { _ in log.append("at its bound") }
        engine.schedule(at: at(149)) { _ in log.append("called") }
        time.advance(to: at(100))
        #expect(log.all == ["late by \(Duration.nanoseconds(51))", "called", "at its bound"])
    }

    @Test("The lateness histogram contains every fire, and is a copy that later fires do not change")
    func histogram() throws {
        let engine = try makeEngine(.coalesced)
        for index in 0..<100 { engine.schedule(at: at(100), tolerance: .nanoseconds(Int64(10 + index))) { _ in } }
        time.advance(to: at(110))
        let lateness = engine.lateness
        #expect(lateness.count == 100 && lateness.earlyCount == 0)
        #expect(lateness.quantile(0.5) == .nanoseconds(10))
        #expect(lateness.max == .nanoseconds(10) && lateness.mean == .nanoseconds(10))
        engine.schedule(at: at(0)) { _ in }
        time.advance(to: at(110))
        #expect(lateness.count == 100)
        #expect(engine.lateness.count == 101)
    }
}

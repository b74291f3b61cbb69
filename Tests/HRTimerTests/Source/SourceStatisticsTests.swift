// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of what sources record in their engine's statistics.
@Suite struct SourceStatisticsTests {
    let time = ManualTime()
    let engine: TimerEngine
    let data = Recorder<UInt>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
    }

    private func makeSource(hasHandler: Bool = true) -> TimerSource {
        let source = TimerSource(engine: engine)
        if hasHandler { source.setEventHandler { [data, weak source] in data.append(source?.data ?? 0) } }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        return source
    }

    @Test("The time in which a source is suspended is no lateness, and the ticks in it are missed ticks")
    func suspended() {
        let source = makeSource()
        time.advance(by: .seconds(1))
        source.suspend()
        time.advance(by: .seconds(10))
        source.resume()
        time.advance(by: .zero)
        #expect(data.all == [1, 10])
        #expect(engine.statistics.fires == 2)
        #expect(engine.statistics.missedTicks == 9)
        #expect(engine.lateness.count == 2 && engine.lateness.max == .zero)
        source.cancel()
    }

    @Test(
        "Ticks reported by a call on a queue are missed ticks of its engine, like those reported on the engine's thread"
    )
    func onQueue() {
        let queue = DispatchQueue(label: "statistics")
        let source = TimerSource(engine: engine, queue: queue)
        source.setEventHandler { [data, weak source] in data.append(source?.data ?? 0) }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        time.advance(by: .seconds(1))
        queue.sync {}
        source.suspend()
        time.advance(by: .seconds(10))
        source.resume()
        time.advance(by: .zero)
        queue.sync {}
        #expect(data.all == [1, 10])
        #expect(engine.statistics.fires == 2)
        #expect(engine.statistics.missedTicks == 9)
        source.cancel()
    }

    @Test("A source without a handler fires nothing, and keeps its grid")
    func withoutHandler() {
        let source = makeSource(hasHandler: false)
        time.advance(by: .seconds(3.5))
        #expect(engine.statistics.fires == 0)
        #expect(engine.lateness.count == 0)
        source.setEventHandler { [data] in data.append(7) }
        time.advance(by: .seconds(1))
        #expect(data.all == [7])
        #expect(engine.statistics.fires == 1)
        source.cancel()
    }

    @Test("A timer armed for the past is late from its arming on, not from its deadline")
    func armedForThePast() {
        engine.schedule(at: .distantPast) { _ in }
        engine.schedule(at: time.now.advanced(by: .seconds(-5))) { _ in }
        time.advance(by: .seconds(1))
        #expect(engine.lateness.count == 2 && engine.lateness.max == .zero)
    }

    @Test("A lateness watch reports a late source, after its call, and none that is in time")
    func watched() throws {
        let log = Recorder<String>()
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.latenessWatch = .init(bound: .seconds(1)) { fire in
            log.append("late by \(fire.lateness / .seconds(1)) s")
        }
        let engine = try TimerEngine(configuration)
        let source = TimerSource(engine: engine)
        source.setEventHandler { log.append("called") }
        source.schedule(deadline: time.now.advanced(by: .seconds(2)), repeating: .seconds(10))
        source.activate()
        for lateness in [0, 1, 3] {
            engine.schedule(at: time.now.advanced(by: .seconds(1))) { [time] _ in
                time.advance(by: .seconds(1 + lateness))
            }
            time.advance(by: .seconds(10))
        }
        #expect(log.all == ["called", "called", "called", "late by 3.0 s"])
        source.cancel()
    }

    @Test("A move of a source with leeway reaches the engine at once, because its window moves too")
    func leewayIsNotMovedSilently() throws {
        var configuration = TimerEngine.Configuration(precision: .coalesced, time: time.base)
        configuration.defersMoves = true
        let engine = try TimerEngine(configuration)
        let source = TimerSource(engine: engine)
        source.setEventHandler { [data, time] in data.append(UInt(time.now.nanoseconds / 1_000_000_000)) }
        source.schedule(deadline: time.now.advanced(by: .seconds(2)), leeway: .seconds(4))
        source.activate()
        source.schedule(deadline: time.now.advanced(by: .seconds(3)))
        time.advance(by: .seconds(20))
        // Frozen time begins at 10 s.
        #expect(data.all == [13])
        source.cancel()
    }

    @Test("Leeway is limited to half the interval")
    func leewayIsCapped() throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let source = TimerSource(engine: engine)
        source.setEventHandler { [data, time] in data.append(UInt(time.now.nanoseconds / 1_000_000)) }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1), leeway: .seconds(10))
        source.activate()
        time.advance(by: .seconds(3))
        #expect(data.all == [11_500, 12_500])
        source.cancel()
    }
}

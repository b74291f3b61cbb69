// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests that a source accepts a time in every spelling. On frozen time.
@Suite struct SourceTimesTests {
    let time = ManualTime()

    private func fires(of schedule: (TimerSource) -> Void) throws -> [Double] {
        let engine = try TimerEngine(time: time.base)
        let start = time.now
        let log = Recorder<Double>()
        let source = TimerSource(engine: engine)
        source.setEventHandler { [time] in log.append(Double(start.duration(to: time.now).nanosecondsRoundedUp) / 1e9) }
        schedule(source)
        source.activate()
        time.advance(by: .seconds(2))
        source.cancel()
        return log.all
    }

    @Test("A source accepts seconds and durations, as literals and as variables")
    func spellings() throws {
        let half = 0.5
        #expect(try fires { $0.schedule(after: half) } == [0.5])
        #expect(try fires { $0.schedule(after: 1, repeating: 0.5) } == [1, 1.5, 2])
        #expect(try fires { $0.schedule(after: half, repeating: .seconds(1), leeway: 0.1) } == [0.5, 1.5])
        #expect(try fires { $0.schedule(after: .seconds(1), repeating: half) } == [1, 1.5, 2])
        #expect(try fires { $0.schedule(after: .nan) } == [0])
        #expect(try fires { $0.schedule(after: .infinity) } == [])
    }
}

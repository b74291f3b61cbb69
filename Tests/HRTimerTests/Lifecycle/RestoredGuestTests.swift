// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

/// What timers do when their clock has jumped, as in a guest that is restored from a snapshot. In manual time.
@Suite struct RestoredGuestTests {
    private static let timers = 10_000
    let time = ManualTime()

    /// Returns the interval of a timer. The intervals differ, so that the timers are spread.
    private static func interval(_ index: Int) -> Duration { .milliseconds(100 + index % 900) }

    @Test("After a jump of an hour, ten thousand repeating timers of a loop make one call each and keep their grids")
    func loop() {
        let loop = TimerLoop(time: time.base)
        let calls = Recorder<Int>()
        let start = time.now
        for index in 0..<Self.timers {
            loop.add(
                LoopTimer(timeInterval: Self.interval(index), repeats: true) { timer in
                    calls.append(index)
                    if calls.count <= Self.timers { #expect(timer.missedTicks > 3000) }
                },
                forMode: .default
            )
        }
        // No timer is called while this block runs, so that the clock jumps for all of them.
        loop.perform { [time] in time.advance(by: .seconds(3600)) }
        _ = loop.run(for: 0)
        #expect(calls.count == Self.timers)
        #expect(Set(calls.all).count == Self.timers)
        _ = loop.run(until: start.advanced(by: .seconds(3601)))
        // In the second that follows, each timer fires at its own ticks again.
        let expected = (0..<Self.timers).reduce(0) { sum, index in
            let every = Self.interval(index) / .milliseconds(1)
            return sum + Int(3_601_000 / every) - Int(3_600_000 / every)
        }
        #expect(calls.count == Self.timers + expected)
    }

    @Test("After a jump of an hour, ten thousand repeating timers of an engine make one call each")
    func engine() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let calls = Recorder<Int>()
        for index in 0..<Self.timers {
            engine.schedule(after: Self.interval(index), every: Self.interval(index)) { _ in calls.append(index) }
        }
        engine.schedule(after: .milliseconds(50)) { [time] _ in time.advance(by: .seconds(3600)) }
        time.advance(by: .milliseconds(50))
        #expect(Set(calls.all).count == Self.timers)
        #expect(calls.count == Self.timers)
        engine.shutdown()
    }
}

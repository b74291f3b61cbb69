// SPDX-License-Identifier: Apache-2.0
import HRTimer
import TestTraits
import Testing

/// Clocks by their precision, on the shared engine, which coalesces: on virtual time it does not.
@Suite(.serialized, .ownThread, .hangLimit) struct ClockPrecisionTests {
    /// What a sleep might be late by, and what one that ignores it is not late by at best.
    private let tolerance = Duration.milliseconds(200), unlike = Duration.milliseconds(50)

    private func lateness(_ deadline: MonotonicInstant) -> Duration {
        let lateness = deadline.duration(to: .now)
        #expect(lateness >= .zero)
        return lateness
    }

    @Test(
        "A clock of normal or precise precision ends a sleep at its deadline, whatever its tolerance",
        arguments: [.normal, .precise] as [TimerPrecision]
    )
    func sleep(_ precision: TimerPrecision) async throws {
        let clock = MonotonicClock(precision: precision)
        var best = Duration.seconds(1)
        for _ in 0..<5 {
            let deadline = clock.now.advanced(by: .milliseconds(5))
            try await clock.sleep(until: deadline, tolerance: tolerance)
            best = min(best, lateness(deadline))
        }
        #expect(best < unlike)
    }

    @Test(
        "A clock of normal or precise precision has its ticks at their deadlines, whatever their tolerance",
        arguments: [.normal, .precise] as [TimerPrecision]
    )
    func ticks(_ precision: TimerPrecision) async {
        var best = Duration.seconds(1), count = 0
        for await tick in MonotonicClock(precision: precision).ticks(every: .milliseconds(400), tolerance: tolerance) {
            best = min(best, lateness(tick.deadline))
            count += 1
            if count == 3 { break }
        }
        #expect(best < unlike)
    }
}

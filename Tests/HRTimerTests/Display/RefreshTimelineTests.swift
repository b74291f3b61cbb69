// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import HRTimer

@Suite struct RefreshTimelineTests {
    @Test("For a year each refresh of any rate is exact to the nanosecond, rounded up, and is found by its instant")
    func year() {
        var random = SeededRandom.fromEnvironment()
        let anchor_ns: Int64 = 123
        let given = [FrameRate(60_000, 1001), FrameRate(119.881), FrameRate(143.981), FrameRate(1, 3)]
        let others = (0..<200).map { _ in
            let denominator = Int64.random(in: 1...1_000_000, using: &random)
            return FrameRate(Int64.random(in: denominator...(500 * denominator), using: &random), denominator)
        }
        for rate in given + others {
            let timeline = RefreshTimeline(FrameGrid(anchor_ns: anchor_ns, rate: rate))
            let inAYear = Int64(365 * 86_400 * rate.framesPerSecond)
            var wrong = 0
            for _ in 0..<300 {
                // Before the anchor too.
                let number = Int64.random(in: -inAYear / 10...inAYear, using: &random)
                let (whole, rest) = (Int128(number) * Int128(rate.denominator) * 1_000_000_000)
                    .quotientAndRemainder(dividingBy: Int128(rate.numerator))
                let expected_ns = anchor_ns + Int64(rest > 0 ? whole + 1 : whole)
                if timeline.instant_ns(number) != expected_ns { wrong += 1 }
                if timeline.number(at: expected_ns) != number { wrong += 1 }
                if timeline.number(at: expected_ns - 1) != number - 1 { wrong += 1 }
            }
            #expect(wrong == 0, "\(rate)")
        }
    }

    @Test("At both ends of time a refresh has a number, and instants do not turn around")
    func ends() {
        for rate in [FrameRate(119.881), FrameRate(10_000), FrameRate(1, 1000)] {
            let grid = FrameGrid(anchor_ns: 123, rate: rate)
            for now_ns in [.min, .min + 1, .max - 1, .max] as [Int64] {
                let number = grid.number(at: now_ns)
                #expect(grid.instant_ns(number) <= now_ns || now_ns == .min)
                #expect(grid.instant_ns(number + 1) > now_ns || now_ns == .max)
            }
            #expect(grid.instant_ns(.max) == .max)
            #expect(grid.instant_ns(.min) == .min)
        }
    }

    @Test("Whatever a timeline follows, instants rise strictly, reported ones stay, and numbers and instants agree")
    func random() {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<50 {
            var timeline = RefreshTimeline(FrameGrid(anchor_ns: 0, rate: FrameRate(60)))
            var now_ns: Int64 = 0
            var reported: [Int64: Int64] = [:]
            for _ in 0..<300 {
                now_ns += Int64.random(in: 0...40_000_000, using: &random)
                if Int.random(in: 0..<10, using: &random) == 0 {
                    timeline.setRate(FrameRate(Double.random(in: 1...500, using: &random)), now_ns: now_ns)
                    reported = reported.filter { $0.value <= now_ns }
                } else {
                    let period_ns = Double.random(in: 2e6...1e8, using: &random)
                    let anchor_ns = now_ns - Int64.random(in: 0...1_000_000_000, using: &random)
                    timeline.follow(FrameGrid(anchor_ns: anchor_ns, period_ns: period_ns), now_ns: now_ns)
                }
                let latest = timeline.number(at: now_ns)
                #expect(timeline.instant_ns(latest) <= now_ns)
                #expect(timeline.instant_ns(latest + 1) > now_ns)
                for number in latest...(latest + 1) {
                    let instant_ns = timeline.instant_ns(number)
                    #expect(reported[number].map { $0 == instant_ns } ?? true)
                    #expect(reported[number - 1].map { $0 < instant_ns } ?? true)
                    reported[number] = instant_ns
                }
            }
        }
    }

    @Test("A timeline that follows the refreshes it already has is not changed, and one that follows others is, once")
    func same() {
        let grid = FrameGrid(anchor_ns: 0, rate: FrameRate(60))
        var timeline = RefreshTimeline(grid)
        for round: Int64 in 0..<20 { timeline.follow(grid, now_ns: round * 50_000_000) }
        #expect(timeline.changes == 0)
        let later = FrameGrid(anchor_ns: 100_000, rate: FrameRate(60))
        for _ in 0..<3 { timeline.follow(later, now_ns: 1_000_000_000) }
        #expect(timeline.changes == 1)
    }
}

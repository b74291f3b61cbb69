import TestSupport
import Testing

@testable import HRTimer

@Suite struct RefreshTimelineTests {
    @Test(
        "After a year 60000/1001 Hz is less than a nanosecond off, and every refresh is found by its instant"
    )
    func year() {
        let timeline = RefreshTimeline(FrameGrid(anchor_ns: 123, rate: FrameRate(60000, 1001)))
        // 365 days of 86,400 s at 60000/1001 Hz.
        let number: Int64 = 365 * 86_400 * 60_000 / 1001
        // In units of 1/60,000 ns.
        let exact = Int128(number) * 1001 * 1_000_000_000
        #expect(abs(Int128(timeline.instant_ns(number) - 123) * 60_000 - exact) < 60_000)
        for offset in [0, 1, 7, 1000] as [Int64] {
            let instant_ns = timeline.instant_ns(number + offset)
            #expect(timeline.number(at: instant_ns) == number + offset)
            #expect(timeline.number(at: instant_ns - 1) == number + offset - 1)
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
}

// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import TestSupport
import Testing

/// The public histogram type.
@Suite struct LatencyHistogramTests {
    @Test("Durations and seconds are recorded, counted and summed, and quantiles return them")
    func record() {
        let histogram = LatencyHistogram()
        #expect(histogram.quantile(0.5) == nil)
        #expect(histogram.mean == nil && histogram.min == nil && histogram.max == nil)
        #expect("\(histogram)" == "no values")
        for value in 1...90 { histogram.record(.microseconds(value)) }
        histogram.record(0.001)
        histogram.record(Double.nan)
        #expect(histogram.count == 91)
        #expect(histogram.sum == .microseconds(90 * 91 / 2 + 1000))
        #expect(histogram.min == .microseconds(1))
        #expect(histogram.max == .milliseconds(1))
        #expect(histogram.quantile(0) == .microseconds(1))
        #expect(histogram.quantile(1) == .milliseconds(1))
        #expect(histogram.quantile(.nan) == nil)
        #expect(histogram.quantile(-3) == .microseconds(1))
        #expect(histogram.quantile(0.99) == .milliseconds(1))
        #expect(histogram.quantile(0.5) == .nanoseconds(46_079))
    }

    @Test("A count up to a bound has all values at or below it, to two digits")
    func countUpTo() {
        let histogram = LatencyHistogram()
        for value in [-5, 10, 20, 30, 1_000_000] { histogram.record(.nanoseconds(value)) }
        #expect(histogram.count(upTo: .nanoseconds(-6)) == 0)
        #expect(histogram.count(upTo: .zero) == 1)
        #expect(histogram.count(upTo: .nanoseconds(19)) == 2)
        #expect(histogram.count(upTo: .nanoseconds(20)) == 3)
        #expect(histogram.count(upTo: 0.000_9) == 4)
        #expect(histogram.count(upTo: 1) == 5)
        #expect(histogram.count(upTo: .infinity) == 5)
        #expect(histogram.count(upTo: .nan) == 0)
        #expect(histogram.earlyCount == 1)
    }

    @Test("The description has the count, the early values, the extremes and three percentiles")
    func description() {
        let histogram = LatencyHistogram()
        for value in 1...100 { histogram.record(.microseconds(value)) }
        histogram.record(.nanoseconds(-20))
        histogram.record(.milliseconds(1500))
        #expect("\(histogram)" == "102 values, 1 early: min -20 ns, p50 50 µs, p90 91 µs, p99 100 µs, max 1.5 s")
    }

    @Test("Several threads may record at once, and no value is lost")
    func threads() async {
        let histogram = LatencyHistogram()
        await withTaskGroup(of: Void.self) { group in
            for value in 1...4 {
                group.addTask { for _ in 0..<1000 { histogram.record(.microseconds(value)) } }
            }
        }
        #expect(histogram.count == 4000)
        #expect(histogram.sum == .milliseconds(10))
        #expect(histogram.count(upTo: .microseconds(2)) == 2000)
    }
}

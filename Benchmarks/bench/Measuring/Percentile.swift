// SPDX-License-Identifier: Apache-2.0
import HRTimerCore

/// A percentile that the reports show.
enum Percentile: Int, CaseIterable {
    case p50 = 50_000
    case p90 = 90_000
    case p95 = 95_000
    case p99 = 99_000
    case p999 = 99_900

    var percent: Double { Double(rawValue) / 1000 }

    /// Returns whether at least ten of `count` values lie beyond: n (1 - p) >= 10, in whole numbers.
    func isSupported(by count: Int) -> Bool {
        count * (100_000 - rawValue) >= 10 * 100_000
    }
}

extension LatencyHistogram {
    /// Returns nil if fewer than ten values lie beyond: such a percentile would depend on single fires.
    func value_ns(at percentile: Percentile) -> Int64? {
        percentile.isSupported(by: count) ? percentile_ns(percentile.percent) : nil
    }
}

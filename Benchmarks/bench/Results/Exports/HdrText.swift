// SPDX-License-Identifier: Apache-2.0
/// HdrHistogram's text format, in µs as its tools expect it.
enum HdrText {
    /// Returns the `.hgrm` format: the percentile distribution of one subject, as the Java original's
    /// `outputPercentileDistribution` writes it with five ticks per halving. Values are µs.
    static func percentiles(_ row: ResultRow) -> String {
        var lines = [
            "Value".aligned(to: 12) + " " + "Percentile".aligned(to: 14) + " " + "TotalCount".aligned(to: 10) + " "
                + "1/(1-Percentile)".aligned(to: 14),
            "",
        ]
        let distribution = row.distribution
        lines += levels(distribution).map { level in
            let share = (level.percent / 100).formatted(decimals: 12)
            let head = "\(microseconds(level.value_ns)) \(share) \("\(level.seen)".aligned(to: 10))"
            guard level.percent < 100 else { return head }
            return head + " " + (1 / (1 - level.percent / 100)).formatted(decimals: 2).aligned(to: 14)
        }
        let (mean, deviation) = moments(distribution)
        let largest_ns = max(0, distribution.buckets.last?.high_ns ?? 0)
        lines += [
            "#[Mean    = \(decimal(mean / 1000)), StdDeviation   = \(decimal(deviation / 1000))]",
            "#[Max     = \(microseconds(largest_ns)), Total count    = \("\(distribution.count)".aligned(to: 12))]",
            "#[Buckets = \("32".aligned(to: 12)), SubBuckets     = \("2048".aligned(to: 12))]",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the levels at which the original's percentile iterator stops: five steps for each halving of the rest up to
    /// 100 %, each at the first bucket that reaches it, and a last one at 100 %.
    private static func levels(_ distribution: Distribution) -> [(value_ns: Int64, percent: Double, seen: Int64)] {
        var levels: [(value_ns: Int64, percent: Double, seen: Int64)] = []
        var percent = 0.0
        var seen: Int64 = 0
        for bucket in distribution.buckets {
            seen += bucket.count
            let high_ns = max(0, bucket.high_ns)
            let isLast = seen == distribution.count
            while 100 * Double(seen) / Double(distribution.count) >= percent {
                levels.append((high_ns, percent, seen))
                let halvings = (100 / (100 - percent)).exponent + 1
                percent += 100 / (5 * Double(sign: .plus, exponent: halvings, significand: 1))
                if isLast || percent >= 100 { break }
            }
            if isLast { levels.append((high_ns, 100, seen)) }
        }
        return levels
    }

    /// Computes mean and deviation from the middles of the buckets, like the original.
    private static func moments(_ distribution: Distribution) -> (mean: Double, deviation: Double) {
        guard distribution.count > 0 else { return (0, 0) }
        let values = distribution.buckets.map { bucket in
            let low_ns = max(0, bucket.low_ns)
            return (middle: Double(low_ns + HDRLayout.width(of: low_ns) / 2), count: Double(bucket.count))
        }
        let count = Double(distribution.count)
        let mean = values.reduce(0) { $0 + $1.middle * $1.count } / count
        let variance = values.reduce(0) { $0 + ($1.middle - mean) * ($1.middle - mean) * $1.count } / count
        return (mean, variance.squareRoot())
    }

    private static func microseconds(_ time_ns: Int64) -> String { decimal(Double(time_ns) / 1000) }

    private static func decimal(_ value: Double) -> String { value.formatted(decimals: 3).aligned(to: 12) }
}

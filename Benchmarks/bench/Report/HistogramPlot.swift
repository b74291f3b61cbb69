import HRTimerCore

/// A histogram in lines of text: one for each step of 100, 200, 500 ns, 1, 2, 5 µs …, with logarithmic bars so that one
/// late fire among thousands can be seen.
enum HistogramPlot {
    struct Row: Equatable {
        /// Upper end of the step; the lower one is that of the row before. 0 stands for all early fires.
        let below_ns: Int64
        let count: UInt64
    }

    private static let barWidth = 40

    /// From the first step with a fire to the last, also the empty ones between.
    static func rows(_ buckets: [LatencyHistogram.Bucket]) -> [Row] {
        var counts = [UInt64](repeating: 0, count: steps.count)
        for bucket in buckets {
            let step = bucket.low_ns < 0 ? 0 : steps.firstIndex { bucket.low_ns < $0 } ?? steps.count - 1
            counts[step] += bucket.count
        }
        guard
            let first = counts.firstIndex(where: { $0 > 0 }),
            let last = counts.lastIndex(where: { $0 > 0 })
        else { return [] }
        return (first...last).map { Row(below_ns: steps[$0], count: counts[$0]) }
    }

    static func lines(_ buckets: [LatencyHistogram.Bucket]) -> [String] {
        let rows = rows(buckets)
        let total = rows.reduce(0) { $0 + $1.count }
        let most = rows.map(\.count).max() ?? 1
        return rows.map { row in
            let label = row.below_ns == 0 ? "early" : "< \(timeText(row.below_ns))"
            guard row.count > 0 else { return "  \(label.aligned(to: 9)) |" }
            let share = (Double(row.count) / Double(total) * 100).formatted(decimals: 1)
            let figures = Int(row.count).grouped.aligned(to: 10) + "\(share) %".aligned(to: 9)
            return "  \(label.aligned(to: 9)) |\(bar(row.count, of: most).padded(to: barWidth))\(figures)"
        }
    }

    /// 0, then 100, 200, 500 ns, 1 µs … up to 100 s.
    private static let steps: [Int64] = {
        var steps: [Int64] = [0]
        var decade: Int64 = 100
        while decade < 100_000_000_000 {
            steps += [decade, 2 * decade, 5 * decade]
            decade *= 10
        }
        return steps + [decade]
    }()

    /// Of at least one cell, and then in proportion to the number of binary digits.
    private static func bar(_ count: UInt64, of most: UInt64) -> String {
        let full = logarithm(most)
        let eighths = full == 0 ? barWidth * 8 : max(8, Int(logarithm(count) / full * Double(barWidth * 8)))
        let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
        return String(repeating: "█", count: eighths / 8) + parts[eighths % 8]
    }

    /// Binary logarithm of count + 1, linear between powers of two: close enough for a bar, and without libm.
    private static func logarithm(_ count: UInt64) -> Double {
        let value = Double(count + 1)
        return Double(value.exponent) + value.significand - 1
    }
}

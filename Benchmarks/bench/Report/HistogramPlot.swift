// SPDX-License-Identifier: Apache-2.0
/// A histogram in lines of text, with steps that grow with the value: three, six or twelve per decade, as many as fit.
enum HistogramPlot {
    struct Row: Equatable {
        /// The upper end of the step; the lower end is that of the previous row. 0 stands for all early fires.
        let below_ns: Int64
        let count: Int64
    }

    private static let mostRows = 18

    /// Returns the rows from the first step with a fire to the last, including empty ones in between.
    static func rows(_ buckets: [Distribution.Bucket], steps: [Int64]) -> [Row] {
        var counts = [Int64](repeating: 0, count: steps.count)
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

    static func lines(_ buckets: [Distribution.Bucket], width: Int? = nil) -> [String] {
        let choices = series.map { shortened(rows(buckets, steps: $0)) }
        let chosen = choices.last { $0.count <= mostRows } ?? choices[0]
        let counts = chosen.compactMap { $0?.count }
        let total = counts.reduce(0, +)
        let most = counts.max() ?? 1
        // The label takes 13 columns, the figures 19; narrow terminals omit the count.
        let isNarrow = (width ?? 80) < 60
        let barWidth = min(60, max(6, (width ?? 80) - (isNarrow ? 23 : 33)))
        return chosen.map { row in
            guard let row else { return "          ⋮" }
            let label = row.below_ns == 0 ? "early" : "< \(timeText(row.below_ns))"
            guard row.count > 0 else { return "  \(label.aligned(to: 9)) |" }
            let share = "\((Double(row.count) / Double(total) * 100).formatted(decimals: 1)) %".aligned(to: 9)
            let figures = (isNarrow ? "" : Int(row.count).grouped.aligned(to: 10)) + share
            return
                "  \(label.aligned(to: 9)) |\(bar(row.count, of: most, barWidth).padded(to: barWidth))\(figures)"
        }
    }

    /// Replaces three or more consecutive empty steps by one nil.
    private static func shortened(_ rows: [Row]) -> [Row?] {
        var shortened: [Row?] = []
        var empty: [Row] = []
        for row in rows {
            if row.count == 0 {
                empty.append(row)
                continue
            }
            shortened += empty.count < 3 ? empty : [nil]
            empty = []
            shortened.append(row)
        }
        return shortened
    }

    /// Steps of 0, and then from 100 ns to 100 s: coarse, finer and fine.
    static let series: [[Int64]] = [
        [10, 20, 50], [10, 15, 20, 30, 50, 70], [10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82],
    ]
    .map { (mantissas: [Int64]) -> [Int64] in
        var steps: [Int64] = [0]
        var decade: Int64 = 10
        while decade < 10_000_000_000 {
            steps += mantissas.map { $0 * decade }
            decade *= 10
        }
        return steps + [10 * decade]
    }

    /// Returns a bar in eighths of a cell; any count has at least one eighth.
    private static func bar(_ count: Int64, of most: Int64, _ width: Int) -> String {
        let eighths = max(1, Int((Double(count) / Double(most) * Double(width * 8)).rounded()))
        let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
        return String(repeating: "█", count: eighths / 8) + parts[eighths % 8]
    }
}

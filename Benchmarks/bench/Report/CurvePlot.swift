import Glibc

/// Percentile curves of several subjects in one plot of text. To the right is the share of fires that are no later; each
/// halving of the rest up to 100 % takes the same width. Upwards is the lateness, logarithmic.
enum CurvePlot {
    /// Returns the plot, and below it the letters of the subjects; nothing without two curves to compare.
    static func lines(_ rows: [ResultRow], width: Int?) -> [String] {
        let curves = rows.map { (row: $0, points: $0.distribution.curve()) }.filter { $0.points.count > 1 }
        let values = curves.flatMap { $0.points.map { height(of: $0.value_ns) } }
        guard curves.count > 1, let low = values.min(), let high = values.max(), high > low else { return [] }
        let plotWidth = LetterPlot.width(on: width)
        let furthest = curves.map { distance(of: $0.points.last!.share) }.max()!
        var plot = LetterPlot(width: plotWidth, height: 14)
        for (number, curve) in curves.enumerated() {
            for column in 0..<plotWidth {
                let wanted = Double(column) / Double(plotWidth - 1) * furthest
                guard wanted <= distance(of: curve.points.last!.share) + 0.05 else { break }
                guard let value_ns = curve.row.distribution.value_ns(at: 1 - exp2(-wanted)) else { continue }
                plot.put(number, in: column..<column + 1, at: (height(of: value_ns) - low) / (high - low))
            }
        }
        let shares = [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")]
        let marks = shares.map { share, text in
            (Int((distance(of: share) / furthest * Double(plotWidth - 1)).rounded()), text)
        }
        let legend = curves.enumerated().map { "\(LetterPlot.letter($0)) \($1.row.id)" }
        return plot.lines(marks: marks) { timeText(exp2(low + (high - low) * $0)) } + inColumns(legend, width: width)
    }

    /// Early fires and those within 100 ns are at the bottom.
    private static func height(of value_ns: Int64) -> Double { log2(Double(max(100, value_ns))) }

    /// Returns how often the rest up to 100 % was halved.
    private static func distance(of share: Double) -> Double { -log2(1 - share) }

    private static func inColumns(_ entries: [String], width: Int?) -> [String] {
        let column = (entries.map(\.count).max() ?? 0) + 2
        let count = max(1, ((width ?? 100) - 2) / column)
        let indent = count == 1 ? "" : "  "
        return stride(from: 0, to: entries.count, by: count).map { start in
            indent
                + entries[start..<min(start + count, entries.count)].map { $0.padded(to: column) }.joined().trimmedAtEnd
        }
    }
}

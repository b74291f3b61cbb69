import Glibc

/// Percentile curves of several subjects in one plot of text. To the right is the share of fires that are no later; each
/// halving of the rest up to 100 % takes the same width. Upwards is the lateness, logarithmic.
enum CurvePlot {
    private static let height = 14
    private static let labelWidth = 9

    /// Returns the plot, and below it the letters of the subjects; nothing without two curves to compare.
    static func lines(_ rows: [ResultRow], width: Int?) -> [String] {
        let curves = rows.map { (row: $0, points: $0.distribution.curve()) }.filter { $0.points.count > 1 }
        let values = curves.flatMap { $0.points.map { height(of: $0.value_ns) } }
        guard curves.count > 1, let low = values.min(), let high = values.max(), high > low else { return [] }
        let plotWidth = min(100, max(20, (width ?? 96) - labelWidth - 10))
        let furthest = curves.map { distance(of: $0.points.last!.share) }.max()!
        var cells = [[Character]](repeating: [Character](repeating: " ", count: plotWidth), count: height)
        for (number, curve) in curves.enumerated() {
            for column in 0..<plotWidth {
                let wanted = Double(column) / Double(plotWidth - 1) * furthest
                guard wanted <= distance(of: curve.points.last!.share) + 0.05 else { break }
                let share = 1 - exp2(-wanted)
                guard let value_ns = curve.row.distribution.value_ns(at: share) else { continue }
                let line = Int(((height(of: value_ns) - low) / (high - low) * Double(height - 1)).rounded())
                cells[height - 1 - line][column] = letter(number)
            }
        }
        let plot = cells.enumerated().map { index, cells in
            let level = low + (high - low) * Double(height - 1 - index) / Double(height - 1)
            let label = index.isMultiple(of: 3) || index == height - 1 ? timeText(exp2(level)) : ""
            return "  \(label.aligned(to: labelWidth)) │" + String(cells).trimmedAtEnd
        }
        let legend = curves.enumerated().map { "\(letter($0)) \($1.row.id)" }
        return plot + axis(plotWidth, furthest) + inColumns(legend, width: width)
    }

    private static func letter(_ number: Int) -> Character { Character(UnicodeScalar(UInt8(97 + number % 26))) }

    /// Early fires and those within 100 ns are at the bottom.
    private static func height(of value_ns: Int64) -> Double { log2(Double(max(100, value_ns))) }

    /// Returns how often the rest up to 100 % was halved.
    private static func distance(of share: Double) -> Double { -log2(1 - share) }

    private static func axis(_ width: Int, _ furthest: Double) -> [String] {
        var marks = [Character](repeating: "─", count: width)
        var labels = [Character](repeating: " ", count: width + 6)
        for (share, label) in [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")] {
            let column = Int((distance(of: share) / furthest * Double(width - 1)).rounded())
            guard column < width else { break }
            marks[column] = "┴"
            for (offset, character) in label.enumerated() where column + offset < labels.count {
                labels[column + offset] = character
            }
        }
        let indent = String(repeating: " ", count: labelWidth + 2)
        return ["\(indent) └" + String(marks), "\(indent)  " + String(labels).trimmedAtEnd]
    }

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

extension String {
    /// The text without spaces at the end.
    var trimmedAtEnd: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}

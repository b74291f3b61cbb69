/// A plot of how operations grow with the number of timers: time upwards, timers to the right, both logarithmic, a letter
/// for each rival.
enum GrowthPlot {
    struct Series: Equatable {
        let id: String
        let points: [(timers: Int, ns: Double)]

        static func == (left: Series, right: Series) -> Bool {
            left.id == right.id && left.points.elementsEqual(right.points, by: ==)
        }
    }

    private static let height = 16
    private static let columnWidth = 12

    /// Returns a plot for each operation that was measured at three sizes or more.
    static func lines(_ session: OperationSession) -> [String] {
        var operations: [String] = []
        for comparison in session.comparisons where !operations.contains(comparison.comparison.operation) {
            operations.append(comparison.comparison.operation)
        }
        return operations.flatMap { operation in
            let comparisons = session.comparisons.filter { $0.comparison.operation == operation }
            guard Set(comparisons.map(\.comparison.timers)).count >= 3 else { return [String]() }
            return ["", "growth of \(operation): time of an operation by timers pending, both logarithmic"]
                + lines(series(comparisons))
        }
    }

    private static func series(_ comparisons: [ComparisonResult]) -> [Series] {
        let ids = comparisons.first?.results.map(\.id) ?? []
        return ids.map { id in
            Series(
                id: id,
                points: comparisons.compactMap { comparison in
                    comparison.results.first { $0.id == id }?.nsPerOp.map { (comparison.comparison.timers, $0) }
                }
            )
        }
    }

    static func lines(_ series: [Series]) -> [String] {
        let points = series.flatMap(\.points).filter { $0.ns > 0 }
        guard let least = points.map(\.ns).min(), let most = points.map(\.ns).max() else { return [] }
        let sizes = Set(points.map(\.timers)).sorted()
        let (low, high) = (logarithm(least), max(logarithm(most), logarithm(least) + 0.1))
        var rows = [[Character]](repeating: Array(repeating: " ", count: sizes.count * columnWidth), count: height)
        for (index, one) in series.enumerated() {
            for point in one.points where point.ns > 0 {
                let row = height - 1 - Int(((logarithm(point.ns) - low) / (high - low) * Double(height - 1)).rounded())
                let start = (sizes.firstIndex(of: point.timers) ?? 0) * columnWidth + 2
                // Letters that meet are placed beside each other.
                let place = (start..<start + columnWidth - 2).first { rows[row][$0] == " " } ?? start
                rows[row][place] = letter(index)
            }
        }
        let axis = rows.enumerated().map { index, row in
            let ns = exponential(high - (high - low) * Double(index) / Double(height - 1))
            let label = index % 5 == 0 ? operationTimeText(ns) : ""
            return label.aligned(to: 10) + " |" + String(row)
        }
        let foot = "".padded(to: 10) + " +" + String(repeating: "-", count: sizes.count * columnWidth)
        let ticks = "".padded(to: 12) + sizes.map { "  \($0.grouped)".padded(to: columnWidth) }.joined()
        let legend = series.enumerated().map { "  \(letter($0)) \($1.id)" }
        return axis + [foot, ticks] + legend
    }

    private static func letter(_ index: Int) -> Character {
        Character(UnicodeScalar(UInt8(97 + index % 26)))
    }

    /// Returns the binary logarithm, interpolated linearly between powers of two: close enough for a plot, and without
    /// libm.
    private static func logarithm(_ value: Double) -> Double { Double(value.exponent) + value.significand - 1 }

    private static func exponential(_ value: Double) -> Double {
        let whole = value.rounded(.down)
        return Double(sign: .plus, exponent: Int(whole), significand: 1 + (value - whole))
    }
}

import Glibc

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
        let (low, high) = (log2(least), max(log2(most), log2(least) + 0.1))
        var plot = LetterPlot(width: sizes.count * columnWidth, height: 16)
        for (number, one) in series.enumerated() {
            for point in one.points where point.ns > 0 {
                let start = (sizes.firstIndex(of: point.timers) ?? 0) * columnWidth + 2
                plot.put(number, in: start..<start + columnWidth - 2, at: (log2(point.ns) - low) / (high - low))
            }
        }
        let marks = sizes.enumerated().map { ($0 * columnWidth + 2, $1.grouped) }
        let legend = series.enumerated().map { "  \(LetterPlot.letter($0)) \($1.id)" }
        return plot.lines(marks: marks) { operationTimeText(exp2(low + (high - low) * $0)) } + legend
    }
}

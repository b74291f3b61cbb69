/// A Pareto front as text for people: a table, and a plot.
struct ParetoText {
    let pareto: Pareto

    /// A point and its letter in the plot.
    private typealias Line = (offset: Int, element: Pareto.Point)

    var text: String {
        (["every \(timeText(pareto.interval_ns))", ""] + table.lines() + [""] + plot).joined(separator: "\n") + "\n"
    }

    private var table: Table<Line> {
        let pareto = pareto
        return Table(
            columns: [
                Column("  subject", isLeft: true) { .text("\(LetterPlot.letter($0.offset)) \($0.element.id)") },
                Column("within 1 µs") { .share($0.element.exact) },
                Column("CPU a fire") { .time(Int64($0.element.cpuPerFire_ns)) },
                Column("of a core") { .share($0.element.cpuPerFire_ns / Double(pareto.interval_ns)) },
                Column("fixed margins: share") {
                    $0.element.isFixed ? .text("") : .share(pareto.exact(at: $0.element.cpuPerFire_ns))
                },
                Column("cost") {
                    $0.element.isFixed ? .text("") : .time(pareto.cost(at: $0.element.exact).map { Int64($0) })
                },
            ],
            rows: Array(pareto.points.enumerated()),
            note: { $0.element.early > 0 ? "\($0.element.early.grouped) early" : "" }
        )
    }

    /// The plot, with the cost to the right and the share upwards.
    private var plot: [String] {
        guard let most_ns = pareto.points.map(\.cpuPerFire_ns).max(), most_ns > 0 else { return [] }
        let width = 72
        var plot = LetterPlot(width: width, height: 16)
        for (number, point) in pareto.points.enumerated() {
            let column = Int(point.cpuPerFire_ns / most_ns * Double(width - 1))
            plot.put(number, in: column..<column + 1, at: point.exact)
        }
        return plot.lines(marks: [(width - 1, timeText(Int64(most_ns)))], label: percentText)
    }
}

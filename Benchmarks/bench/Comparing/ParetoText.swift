/// A Pareto front as text for people: a table, and a plot.
struct ParetoText {
    let pareto: Pareto

    private static let height = 16
    private static let width = 72

    var text: String {
        let width = pareto.points.map(\.id.count).max() ?? 0
        var lines = ["every \(timeText(pareto.interval_ns))", ""]
        lines.append(
            "  " + "subject".padded(to: width) + "within 1 µs".aligned(to: 14) + "CPU a fire".aligned(to: 13)
                + "of a core".aligned(to: 12) + "fixed margins: share".aligned(to: 23) + "cost".aligned(to: 10)
        )
        for (number, point) in pareto.points.enumerated() { lines.append(line(point, number, width)) }
        return (lines + [""] + plot).joined(separator: "\n") + "\n"
    }

    private func line(_ point: Pareto.Point, _ number: Int, _ width: Int) -> String {
        let share = point.cpuPerFire_ns / Double(pareto.interval_ns)
        let text =
            "\(letter(number)) " + point.id.padded(to: width) + percentText(point.exact).aligned(to: 14)
            + timeText(Int64(point.cpuPerFire_ns)).aligned(to: 13) + percentText(share).aligned(to: 12)
        let early = point.early > 0 ? "  \(point.early.grouped) early" : ""
        if point.isFixed { return text + early }
        let exact = pareto.exact(at: point.cpuPerFire_ns).map(percentText) ?? "–"
        let cost = pareto.cost(at: point.exact).map { timeText(Int64($0)) } ?? "–"
        return text + exact.aligned(to: 23) + cost.aligned(to: 10) + early
    }

    /// The plot, with the cost to the right and the share upwards.
    private var plot: [String] {
        guard let most_ns = pareto.points.map(\.cpuPerFire_ns).max(), most_ns > 0 else { return [] }
        var cells = [[Character]](repeating: [Character](repeating: " ", count: Self.width), count: Self.height)
        for (number, point) in pareto.points.enumerated() {
            let column = Int(point.cpuPerFire_ns / most_ns * Double(Self.width - 1))
            let line = Int((point.exact * Double(Self.height - 1)).rounded())
            cells[Self.height - 1 - line][column] = letter(number)
        }
        let lines = cells.enumerated().map { index, cells in
            let level = Double(Self.height - 1 - index) / Double(Self.height - 1)
            let label = index.isMultiple(of: 5) ? percentText(level) : ""
            return "\(label.aligned(to: 8)) │" + String(cells).trimmedAtEnd
        }
        let end = timeText(Int64(most_ns)).aligned(to: Self.width)
        let indent = String(repeating: " ", count: 8)
        return lines + ["\(indent) └" + String(repeating: "─", count: Self.width), "\(indent)  " + end]
    }

    private func letter(_ number: Int) -> Character { Character(UnicodeScalar(UInt8(97 + number % 26))) }

    private func percentText(_ share: Double) -> String {
        "\(Int((share * 1000).rounded()) / 10).\(Int((share * 1000).rounded()) % 10) %"
    }
}

/// The share of exact fires against the cost of a fire: fixed margins as a line, the other subjects as points.
struct ParetoChart {
    let pareto: Pareto
    let width: Double
    let height: Double

    private let left = 56.0
    private let right = 230.0
    private var bottom: Double { height - 46 }

    /// Returns a file with the pictures of several intervals, one below the other.
    static func standalone(_ paretos: [Pareto]) -> String {
        let width = 860.0, height = 380.0
        let charts = paretos.enumerated().map { number, pareto in
            let title = SVG.text("Every \(timeText(pareto.interval_ns))", 16, 24, "head")
            let chart = ParetoChart(pareto: pareto, width: width, height: height)
            return "<g transform=\"translate(0 \(SVG.number(Double(number) * (height + 40))))\">\(title)"
                + "<g transform=\"translate(0 32)\">\(chart.content)</g></g>"
        }
        let total = SVG.number(Double(paretos.count) * (height + 40))
        return
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 \(total)\" width=\"860\" height=\"\(total)\" "
            + "role=\"img\">\n<style>\(SVG.style)</style>"
            + "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--back)\"/>\n\(charts.joined(separator: "\n"))\n</svg>\n"
    }

    var svg: String {
        "<svg viewBox=\"0 0 \(SVG.number(width)) \(SVG.number(height))\" role=\"img\" "
            + "aria-label=\"Share of exact fires against processor time\">\(content)</svg>"
    }

    /// Subjects that spin all the time are left out: they cost several times the rest, which would be compressed.
    private var shown: [Pareto.Point] { pareto.points.filter { $0.cpuPerFire_ns < Double(pareto.interval_ns) * 0.8 } }
    private var most_ns: Double { max(1000, shown.map(\.cpuPerFire_ns).max() ?? 0) * 1.05 }

    private func x(_ cost_ns: Double) -> Double { left + cost_ns / most_ns * (width - left - right) }
    private func y(_ share: Double) -> Double { 10 + (1 - share) * (bottom - 10) }

    var content: String { grid + curve + points }

    private var grid: String {
        var parts: [String] = []
        for tenth in stride(from: 0, through: 10, by: 2) {
            let share = Double(tenth) / 10
            parts.append(SVG.line(left, y(share), width - right, y(share), "grid"))
            parts.append(SVG.text("\(tenth * 10) %", left - 8, y(share) + 4, "faint end"))
        }
        let step_ns = [5000.0, 10_000, 20_000, 50_000, 100_000, 200_000].first { most_ns / $0 <= 8 } ?? 500_000
        for cost_ns in stride(from: 0, through: most_ns, by: step_ns) {
            parts.append(SVG.line(x(cost_ns), 10, x(cost_ns), bottom, "grid"))
            parts.append(
                SVG.text(cost_ns == 0 ? "0" : tickText(Int64(cost_ns)), x(cost_ns), bottom + 17, "faint middle")
            )
        }
        let axis = "processor time of a fire, and the share of fires within 1 µs"
        parts.append(SVG.text(axis, (left + width - right) / 2, bottom + 36, "faint middle"))
        return parts.joined()
    }

    private var curve: String {
        let fixed = shown.filter(\.isFixed)
        let line = SVG.polyline(
            fixed.map { (x: x($0.cpuPerFire_ns), y: y($0.exact)) },
            "other",
            title: "fixed margins, the kernel alone"
        )
        let labels = fixed.map { point in
            let margin = point.id.dropFirst(Pareto.fixed.count)
            return SVG.text("\(margin)", x(point.cpuPerFire_ns) + 4, y(point.exact) + 14, "faint small")
        }
        return line + labels.joined()
    }

    private var points: String {
        let others = shown.filter { !$0.isFixed }.sorted { $0.exact > $1.exact }
        var nextName = 0.0
        return others.enumerated().map { number, point in
            let style = "c\(number % 10)"
            let place = (x: x(point.cpuPerFire_ns), y: y(point.exact))
            let dot = SVG.element(
                "rect",
                [
                    ("x", SVG.number(place.x - 4)), ("y", SVG.number(place.y - 4)), ("width", "8"), ("height", "8"),
                    ("class", style),
                ],
                SVG.element("title", [], SVG.escaped("\(point.id): \(timeText(point.cpuPerFire_ns))"))
            )
            nextName = max(place.y + 4, nextName + 17)
            return dot + SVG.text(point.id, width - right + 10, nextName, style)
        }
        .joined()
    }
}

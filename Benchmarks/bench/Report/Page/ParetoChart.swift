// SPDX-License-Identifier: Apache-2.0
/// The share of exact fires against the cost of a fire: fixed margins as a line, the other subjects as points.
struct ParetoChart {
    private let shown: [Pareto.Point]
    private let margins: [Pareto.Point]
    private let most_ns: Double
    private let plot: SVGPlot

    init(_ pareto: Pareto, width: Double, height: Double) {
        // Subjects that spin all the time are left out: they cost several times the rest, which would be compressed.
        shown = pareto.points.filter { $0.cpuPerFire_ns < Double(pareto.interval_ns) * 0.8 }
        margins = pareto.margins.filter { [shown] in shown.contains($0) }
        most_ns = max(1000, shown.map(\.cpuPerFire_ns).max() ?? 0) * 1.05
        plot = SVGPlot(width: width, height: height, left: 56, right: 230, top: 10, bottom: height - 46)
    }

    /// Returns a file with the pictures of several intervals, one below the other.
    static func standalone(_ paretos: [Pareto]) -> String {
        let (width, height) = (860.0, 380.0)
        let charts = paretos.enumerated().map { number, pareto in
            let title = SVG.text("Every \(timeText(pareto.interval_ns))", 16, 24, "head")
            let chart = ParetoChart(pareto, width: width, height: height).content
            return SVG.moved(down: Double(number) * (height + 40), title + SVG.moved(down: 32, chart))
        }
        return SVG.file(width: width, height: Double(paretos.count) * (height + 40), charts.joined(separator: "\n"))
    }

    var svg: String { plot.inline("Share of exact fires against processor time", content) }

    private var content: String { grid + curve + points }

    private func x(_ point: Pareto.Point) -> Double { plot.x(point.cpuPerFire_ns / most_ns) }

    private var grid: String {
        let step_ns = [5000.0, 10_000, 20_000, 50_000, 100_000, 200_000].first { most_ns / $0 <= 8 } ?? 500_000
        return plot.grid(
            heights: stride(from: 0, through: 100, by: 20).map { (Double($0) / 100, "\($0) %") },
            widths: stride(from: 0, through: most_ns, by: step_ns).map { cost_ns in
                (cost_ns / most_ns, cost_ns == 0 ? "0" : tickText(Int64(cost_ns)))
            },
            title: "processor time of a fire, and the share of fires within 1 µs"
        )
    }

    private var curve: String {
        let line = SVG.polyline(
            margins.map { (x: x($0), y: plot.y($0.exact)) },
            "other",
            title: "fixed margins, the kernel alone"
        )
        let labels = margins.map { point in
            SVG.text(
                "\(point.id.split(separator: ".").last ?? "")",
                x(point) + 4,
                plot.y(point.exact) + 14,
                "faint small"
            )
        }
        return line + labels.joined()
    }

    private var points: String {
        let others = shown.filter { !$0.isFixed }.sorted { $0.exact > $1.exact }.enumerated()
        let dots = others.map { number, point in
            SVG.rect(
                (x(point) - 4, plot.y(point.exact) - 4),
                (8, 8),
                "c\(number % 10)",
                title: "\(point.id): \(timeText(point.cpuPerFire_ns))"
            )
        }
        return dots.joined() + plot.names(others.map { ($0, $1.id, $1.exact) })
    }
}

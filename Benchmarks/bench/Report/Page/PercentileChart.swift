// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Percentile curves of all subjects in one picture: one of each kind in colour, the others thin behind them.
struct PercentileChart {
    /// Whether names are at the ends of the curves; without them the reader needs the legend of the page.
    private let hasNames: Bool
    private let coloured: [ResultRow]
    private let others: [ResultRow]
    private let axis: TimeAxis
    private let furthest: Double
    private let plot: SVGPlot

    init(_ rows: [ResultRow], coloured: [ResultRow], width: Double, height: Double, hasNames: Bool) {
        self.hasNames = hasNames
        self.coloured = coloured
        others = rows.filter { row in row.fires > 0 && !coloured.contains { $0.id == row.id } }
        let curves = (others + coloured).map { $0.distribution.curve() }
        axis = TimeAxis(curves.flatMap { $0.map(\.value_ns) })
        furthest = max(1, curves.compactMap { $0.last.map { Self.distance(of: $0.share) } }.max() ?? 1)
        let right: Double = hasNames ? 235 : 14
        plot = SVGPlot(width: width, height: height, left: 62, right: right, top: 12, bottom: height - 52)
    }

    /// Returns the rows that get a colour: all of them if there are at most ten, otherwise one of each kind.
    static func coloured(_ file: ResultFile, _ interval_ns: Int64) -> [ResultRow] {
        let rows = file.rows(at: interval_ns).filter { $0.fires > 0 }
        return rows.count <= 10 ? rows : Digest(file, interval_ns: interval_ns).families.map(\.row)
    }

    /// Returns a picture for a separate file, light or dark by its reader's setting. Shows the first interval of a sweep.
    static func standalone(_ file: ResultFile) -> String {
        let interval_ns = file.intervals_ns[0]
        let (rows, coloured) = (file.rows(at: interval_ns), coloured(file, interval_ns))
        let chart = PercentileChart(rows, coloured: coloured, width: 860, height: 460, hasNames: true)
        let title = SVG.text("How late timers fire, every \(timeText(interval_ns))", 16, 26, "head")
        let host = SVG.text(file.host.inShort(["cpu", "cores", "kernel"]), 16, 45, "faint small")
        return SVG.file(width: 860, height: 520, title + host + "\n" + SVG.moved(down: 55, chart.content))
    }

    var svg: String { plot.inline("Percentile curves of lateness; the table has the figures", content) }

    private static func distance(of share: Double) -> Double { -log2(1 - share) }

    private func x(_ share: Double) -> Double { plot.x(Self.distance(of: share) / furthest) }

    private func y(_ time_ns: Int64) -> Double { plot.y(axis.place(of: time_ns)) }

    private var content: String { grid + curves + (hasNames ? names : "") }

    private var grid: String {
        let shares = [(0.0, "0"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")]
            .map { (share: Self.distance(of: $0.0) / furthest, label: $0.1) }
        return plot.grid(
            heights: axis.ticks_ns.map { (axis.place(of: $0), tickText($0)) },
            widths: shares.filter { $0.share <= 1 },
            title: "so many fires are no later"
        )
    }

    private var curves: String {
        func curve(_ row: ResultRow, _ style: String) -> String {
            let points = row.distribution.curve().map { (x: x($0.share), y: y($0.value_ns)) }
            let p99 = row.lateness.p99.map { ", p99 \(timeText($0))" } ?? ""
            let p50 = row.lateness.p50.map { timeText($0) } ?? "–"
            return SVG.polyline(points, style, title: "\(row.id): p50 \(p50)\(p99)")
        }
        return others.map { curve($0, "other") }.joined()
            + coloured.enumerated().map { curve($1, "c\($0 % 10)") }.reversed().joined()
    }

    private var names: String {
        plot.names(
            coloured.enumerated().compactMap { number, row in
                row.distribution.curve().last.map { (number, row.id, axis.place(of: $0.value_ns)) }
            }
        )
    }
}

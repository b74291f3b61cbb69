// SPDX-License-Identifier: Apache-2.0
/// One subject's histogram as a picture. The time is logarithmic and the same for all subjects of a page; bars are in
/// proportion to their counts.
struct HistogramChart {
    let row: ResultRow
    let axis: TimeAxis

    private static let plot = SVGPlot(width: 320, height: 120, left: 8, right: 8, top: 6, bottom: 96)
    private static let bins = 64
    private var plot: SVGPlot { Self.plot }

    var svg: String { plot.inline("Histogram of \(row.id)", ticks + bars + mark) }

    private var ticks: String {
        let ticks_ns = axis.ticks_ns
        let plotWidth = Int(plot.x(1) - plot.x(0))
        // Every label needs a width of about 50.
        let step = max(1, (ticks_ns.count * 50 + plotWidth - 1) / plotWidth)
        return ticks_ns.enumerated().filter { $0.offset.isMultiple(of: step) }.map { _, tick_ns in
            let x = plot.x(axis.place(of: tick_ns))
            let style = x < 25 ? "faint small" : x > plot.width - 25 ? "faint small end" : "faint small middle"
            return SVG.line(x, plot.top, x, plot.bottom, "grid")
                + SVG.text(tickText(tick_ns), x, plot.bottom + 15, style)
        }
        .joined() + SVG.line(plot.x(0), plot.bottom, plot.x(1), plot.bottom, "axis")
    }

    private var bars: String {
        var counts = [Int64](repeating: 0, count: Self.bins)
        var early = counts
        for bucket in row.distribution.buckets {
            let bin = min(Self.bins - 1, Int(axis.place(of: bucket.low_ns) * Double(Self.bins)))
            if bucket.low_ns < 0 { early[bin] += bucket.count } else { counts[bin] += bucket.count }
        }
        let most = Double(max(1, zip(counts, early).map { $0 + $1 }.max() ?? 1))
        let step = (plot.x(1) - plot.x(0)) / Double(Self.bins)
        return counts.indices.flatMap { bin -> [String] in
            [(counts[bin], "bar"), (early[bin], "early")].filter { $0.0 > 0 }.map { count, style in
                // A single fire is visible too.
                let tall = max(1.5, Double(count) / most * (plot.bottom - 8))
                return SVG.rect((plot.x(0) + Double(bin) * step, plot.bottom - tall), (step - 0.6, tall), style)
            }
        }
        .joined()
    }

    /// The mark of the median.
    private var mark: String {
        guard let p50 = row.lateness.p50 else { return "" }
        let x = SVG.number(plot.x(axis.place(of: p50)) - 4)
        let title = SVG.element("title", [], "median \(timeText(p50))")
        return SVG.element("path", [("d", "M\(x) 0h8l-4 6z"), ("style", "fill:var(--text)")], title)
    }
}

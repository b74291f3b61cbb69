/// One subject's histogram as a picture. The time is logarithmic and the same for all subjects of a page; bars are in
/// proportion to their counts.
struct HistogramChart {
    let row: ResultRow
    let axis: TimeAxis

    private static let width = 320.0
    private static let height = 120.0
    private static let bins = 64
    private static let left = 8.0
    private static let right = 8.0
    private static let bottom = 24.0

    var svg: String {
        "<svg viewBox=\"0 0 \(SVG.number(Self.width)) \(SVG.number(Self.height))\" role=\"img\" "
            + "aria-label=\"Histogram of \(SVG.escaped(row.id))\">\(ticks)\(bars)\(marks)</svg>"
    }

    private var plotWidth: Double { Self.width - Self.left - Self.right }
    private var base: Double { Self.height - Self.bottom }

    private var ticks: String {
        let ticks_ns = axis.ticks_ns
        // Every label needs a width of about 50.
        let step = max(1, (ticks_ns.count * 50 + Int(plotWidth) - 1) / Int(plotWidth))
        return ticks_ns.enumerated().filter { $0.offset.isMultiple(of: step) }.map { _, tick_ns in
            let x = Self.left + axis.place(of: tick_ns) * plotWidth
            let style = x < 25 ? "faint small" : x > Self.width - 25 ? "faint small end" : "faint small middle"
            return SVG.line(x, 6, x, base, "grid") + SVG.text(tickText(tick_ns), x, base + 15, style)
        }
        .joined() + SVG.line(Self.left, base, Self.width - Self.right, base, "axis")
    }

    private var bars: String {
        var counts = [Int64](repeating: 0, count: Self.bins)
        var early = [Int64](repeating: 0, count: Self.bins)
        for bucket in row.distribution.buckets {
            let bin = min(Self.bins - 1, Int(axis.place(of: bucket.low_ns) * Double(Self.bins)))
            if bucket.low_ns < 0 { early[bin] += bucket.count } else { counts[bin] += bucket.count }
        }
        let most = Double(max(1, zip(counts, early).map { $0 + $1 }.max() ?? 1))
        let step = plotWidth / Double(Self.bins)
        return counts.indices.flatMap { bin -> [String] in
            [(counts[bin], "bar"), (early[bin], "early")].filter { $0.0 > 0 }.map { count, style in
                // A single fire is visible too.
                let tall = max(1.5, Double(count) / most * (base - 8))
                return SVG.element(
                    "rect",
                    [
                        ("x", SVG.number(Self.left + Double(bin) * step)), ("y", SVG.number(base - tall)),
                        ("width", SVG.number(step - 0.6)), ("height", SVG.number(tall)), ("class", style),
                    ]
                )
            }
        }
        .joined()
    }

    /// The mark of the median.
    private var marks: String {
        guard let p50 = row.lateness.p50 else { return "" }
        let x = Self.left + axis.place(of: p50) * plotWidth
        return SVG.element(
            "path",
            [("d", "M\(SVG.number(x - 4)) 0h8l-4 6z"), ("style", "fill:var(--text)")],
            "<title>median \(timeText(p50))</title>"
        )
    }
}

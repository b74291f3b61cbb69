import Glibc

/// Percentile curves of all subjects in one picture: one of each kind in colour, the others thin behind them.
struct PercentileChart {
    let width: Double
    let height: Double
    /// Whether names are at the ends of the curves; without them the reader needs the legend of the page.
    let hasNames: Bool
    private let coloured: [ResultRow]
    private let others: [ResultRow]
    private let axis: TimeAxis
    private let furthest: Double

    init(_ rows: [ResultRow], coloured: [ResultRow], width: Double, height: Double, hasNames: Bool) {
        self.width = width
        self.height = height
        self.hasNames = hasNames
        self.coloured = coloured
        others = rows.filter { row in row.fires > 0 && !coloured.contains { $0.id == row.id } }
        let curves = (others + coloured).map { $0.distribution.curve() }
        axis = TimeAxis(curves.flatMap { $0.map(\.value_ns) })
        furthest = max(1, curves.compactMap { $0.last.map { Self.distance(of: $0.share) } }.max() ?? 1)
    }

    /// Returns the rows that get a colour: all of them if there are at most ten, otherwise one of each kind.
    static func coloured(_ file: ResultFile, _ interval_ns: Int64) -> [ResultRow] {
        let rows = file.rows(at: interval_ns).filter { $0.fires > 0 }
        return rows.count <= 10 ? rows : Digest(file, interval_ns: interval_ns).families.map(\.row)
    }

    /// Returns a picture for a separate file, light or dark by its reader's setting. Shows the first interval of a sweep.
    static func standalone(_ file: ResultFile) throws -> String {
        let interval_ns = file.intervals_ns[0]
        let rows = file.rows(at: interval_ns)
        let chart = PercentileChart(
            rows,
            coloured: coloured(file, interval_ns),
            width: 860,
            height: 460,
            hasNames: true
        )
        let title = SVG.text("How late timers fire, every \(timeText(interval_ns))", 16, 26, "head")
        let texts = file.host.texts
        let host = [texts["cpu"], texts["cores"].map { "\($0) cores" }, texts["kernel"]?.kernelName]
        let note = SVG.text(host.compactMap(\.self).joined(separator: ", "), 16, 45, "faint small")
        let body = "<style>\(SVG.style)</style><rect width=\"100%\" height=\"100%\" style=\"fill:var(--back)\"/>"
        return
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 520\" width=\"860\" height=\"520\" role=\"img\">\n"
            + "\(body)\n\(title)\(note)\n<g transform=\"translate(0 55)\">\(chart.content)</g>\n</svg>\n"
    }

    var svg: String {
        "<svg viewBox=\"0 0 \(SVG.number(width)) \(SVG.number(height))\" role=\"img\" "
            + "aria-label=\"Percentile curves of lateness; the table has the figures\">\(content)</svg>"
    }

    private var left: Double { 62 }
    private var right: Double { hasNames ? 235 : 14 }
    private var plotHeight: Double { height - 52 }

    private static func distance(of share: Double) -> Double { -log2(1 - share) }

    private func x(_ share: Double) -> Double { left + Self.distance(of: share) / furthest * (width - left - right) }

    private func y(_ time_ns: Int64) -> Double { 12 + (1 - axis.place(of: time_ns)) * (plotHeight - 12) }

    var content: String { grid + curves + (hasNames ? names : "") }

    private var grid: String {
        var parts: [String] = []
        for tick_ns in axis.ticks_ns {
            parts.append(SVG.line(left, y(tick_ns), width - right, y(tick_ns), "grid"))
            parts.append(SVG.text(tickText(tick_ns), left - 8, y(tick_ns) + 4, "faint end"))
        }
        let shares = [(0.0, "0"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")]
        for (share, label) in shares where Self.distance(of: share) <= furthest {
            parts.append(SVG.line(x(share), 12, x(share), plotHeight, "grid"))
            parts.append(SVG.text(label, x(share), plotHeight + 18, "faint middle"))
        }
        parts.append(SVG.line(left, plotHeight, width - right, plotHeight, "axis"))
        parts.append(
            SVG.text("so many fires are no later", (left + width - right) / 2, plotHeight + 38, "faint middle")
        )
        return parts.joined()
    }

    private var curves: String {
        func curve(_ row: ResultRow, _ style: String) -> String {
            let points = row.distribution.curve().map { (x: x($0.share), y: y($0.value_ns)) }
            let p99 = row.lateness.p99.map { ", p99 \(timeText($0))" } ?? ""
            return SVG.polyline(
                points,
                style,
                title: "\(row.id): p50 \(row.lateness.p50.map { timeText($0) } ?? "–")\(p99)"
            )
        }
        return others.map { curve($0, "other") }.joined()
            + coloured.enumerated().map { curve($1, "c\($0 % 10)") }.reversed().joined()
    }

    /// Names at the right ends of the curves, moved apart where they would overlap.
    private var names: String {
        let ends = coloured.enumerated().compactMap { number, row in
            row.distribution.curve().last.map { (number: number, row: row, y: y($0.value_ns) + 4) }
        }
        .sorted { $0.y < $1.y }
        let step = 17.0
        var places = ends.map(\.y)
        for index in places.indices.dropFirst() { places[index] = max(places[index], places[index - 1] + step) }
        let overflow = max(0, (places.last ?? 0) - plotHeight)
        for index in places.indices.reversed() {
            let limit = index == places.count - 1 ? places[index] - overflow : places[index + 1] - step
            places[index] = min(places[index], limit)
        }
        return zip(ends, places).map { SVG.text($0.row.id, width - right + 8, $1, "c\($0.number % 10)") }.joined()
    }
}

extension String {
    /// The beginning of the kernel's full name, such as "Linux 6.18.44".
    var kernelName: String { split(separator: " ").prefix(2).joined(separator: " ") }
}
